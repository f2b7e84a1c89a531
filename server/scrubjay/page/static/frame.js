// What all views share: addresses, the chosen project, messages and questions to the user.

import { button, h } from "./dom.js";

export const FILES = { today: "today", session: "session", search: "search", facts: "facts", documents: "documents", document: "documents", settings: "settings" };

const decoded = (part) => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // the user typed a single %
  }
};

/** The current address as its view, the parts after it, and the options. */
export function currentRoute() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...parts] = path.split("/").map(decoded);
  return { view: Object.hasOwn(FILES, view) ? view : "today", parts, options: new URLSearchParams(query) };
}

/** The address of a view, in the chosen project unless `in` names another. Options without a value are left out. */
export function address(view, parts = [], options = {}) {
  const query = new URLSearchParams(Object.entries({ ...options, in: options.in ?? currentScope() }).filter(([, value]) => value));
  const path = [view, ...parts].map(encodeURIComponent).join("/");
  return `#/${path}${query.size ? `?${query}` : ""}`;
}

/** Open the same view with other options, without a new history entry. */
export function refine(options) {
  const route = currentRoute();
  history.replaceState(history.state, "", address(route.view, route.parts, { ...Object.fromEntries(route.options), ...options }));
}

/** The scope of the chosen project; "" for every project. */
export const currentScope = () => currentRoute().options.get("in") ?? "";

export const toasts = h("div.toasts", { role: "status", "aria-live": "polite" });
/** Show a message for a while, with an undo button if `undo` is given. */
export function say(sentence, undo = null) {
  const note = h("div.toast", h("span", sentence));
  const close = () => note.remove();
  if (undo) note.append(button("Undo", async () => (close(), await attempt(undo)), { plain: true }));
  note.append(button("×", close, { "aria-label": "Close", plain: true }));
  toasts.append(note);
  setTimeout(close, undo ? 20_000 : 7_000);
}

/** Run `work`; if it fails, show the error and return undefined. */
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    if (error.name !== "AbortError") say(error.message);
    return undefined;
  }
}

/** Put a text on the clipboard, and say so. */
export async function copy(text) {
  await navigator.clipboard.writeText(text);
  say("Copied.");
}

/** Ask in a dialog; resolve to true if the user presses the button labelled `yes`. */
export function askToConfirm(title, body, yes) {
  return new Promise((done) => {
    const dialog = h(
      "dialog",
      { "aria-labelledby": "question" },
      h("form", { method: "dialog" }, h("h2", { id: "question" }, title), body, h("div.row.end",
        button("Cancel", () => dialog.close("no")),
        h("button.danger", { value: "yes", type: "submit" }, yes))),
    );
    dialog.addEventListener("close", () => (dialog.remove(), done(dialog.returnValue === "yes")));
    document.body.append(dialog);
    dialog.showModal();
  });
}
