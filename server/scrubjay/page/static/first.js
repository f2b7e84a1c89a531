// Requests the sessions of Today before the modules that show them have loaded, and exchanges the key of a link for a cookie.

const key = /^#key=([\w-]+)$/.exec(location.hash)?.[1];
const params = { size: 40 }; // the same as in today.js
const post = (path, values) => fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(values) });
const response = key ? post("enter", { key, call: "sessions", params }) : /^(#\/?(today)?)?$/.test(location.hash) ? post("call/sessions", params) : null;
if (key) history.replaceState(null, "", "#/today");

/** The first call, its response, and `hasKey` if a key was sent; null if the page opens with another view. */
export const first = response && { key: JSON.stringify(["sessions", params]), response, hasKey: Boolean(key) };
