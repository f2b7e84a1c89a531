// Asks for the sessions of Today before the modules that show them have arrived, and exchanges the key of a link for this browser's cookie.

const key = /^#key=([\w-]+)$/.exec(location.hash)?.[1];
const params = { size: 40 }; // as today.js asks
const post = (path, values) => fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(values) });
const sent = key ? post("enter", { key, call: "sessions", params }) : /^(#\/?(today)?)?$/.test(location.hash) ? post("call/sessions", params) : null;
if (key) history.replaceState(null, "", "#/today");

/** The first call, its response, and whether it brought a key; null if the page opens with another view. */
export const first = sent && { asked: JSON.stringify(["sessions", params]), sent, isKey: Boolean(key) };
