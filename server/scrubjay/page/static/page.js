// The page: access, the current view, keyboard shortcuts, and the theme.

import { button, choice, debounce, empty, fill, h, s } from "./dom.js";
import { GONE, call, entering, listen, news } from "./engine.js";
import { FILES, address, attempt, currentRoute, currentScope, say, toasts } from "./frame.js";
import * as today from "./today.js";
import { number, plural, project } from "./words.js";

const VIEWS = {
  today: ["Today", "M3 9h18M7 3v3m10-3v3M4 5h16v15H4z"],
  search: ["Search", "M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14zm5 12 5 5"],
  facts: ["Facts", "M5 4h14v16l-7-4-7 4z"],
  documents: ["Documents", "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6"],
  settings: ["Settings", "M4 7h9m4 0h3M4 17h3m4 0h9M15 5v4M9 15v4"],
};
const KEYS = [
  ["j k", "next, previous"],
  ["Enter", "open it"],
  ["x", "select it, to change several"],
  ["k e f", "keep, edit or forget, when looking through facts"],
  ["/", "search"],
  ["g then t s f d e", "Today, Search, Facts, Documents, Settings"],
  ["Esc", "close, or back"],
  ["?", "this list"],
];
const GOTO = { t: "today", s: "search", f: "facts", d: "documents", e: "settings" };

const main = h("main", { id: "main", tabindex: "-1" });
const live = h("span.live", { role: "status" });
const projects = h("div.projects");
let nav;
let leaving = null; // aborts the work of the current view
let latest = 0; // the number of the latest call of `open`
let lastHash = ""; // the address before the current one

async function open() {
  const opened = ++latest;
  const route = currentRoute();
  const isReturn = history.state?.wasOpened;
  history.replaceState({ wasOpened: true }, "");
  const left = lastHash;
  lastHash = location.hash;
  leaving?.abort();
  leaving = new AbortController();
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
  for (const link of nav.querySelectorAll("a")) {
    const isHere = link.dataset.view === (route.view === "document" ? "documents" : route.view === "session" ? "today" : route.view);
    link.toggleAttribute("aria-current", isHere);
    if (isHere) link.setAttribute("aria-current", "page");
    link.href = address(link.dataset.view);
  }
  for (const link of projects.querySelectorAll("a")) markProject(link, route);
  for (const list of projects.querySelectorAll("select")) list.value = currentScope();
  try {
    // Today is imported statically: even a loaded module is only imported after the next paint.
    const view = route.view === "today" ? today : await import(`./${FILES[route.view]}.js`).catch(() => Promise.reject(new Error(GONE)));
    if (opened !== latest) return;
    const container = h("div.view");
    await view.show(container, route, leaving.signal);
    if (opened !== latest) return;
    fill(main, container);
    const first = container.querySelector("[data-first]");
    const isLater = opened > 1; // the first view needs neither focus nor scrolling, which would delay it by a layout
    if (first || (isLater && !main.contains(document.activeElement))) (first ?? main).focus({ preventScroll: true });
    container.dispatchEvent(new CustomEvent("shown"));
    const origin = isReturn && left && container.querySelector(`a[href="${CSS.escape(left)}"]`);
    if (origin) {
      origin.focus({ preventScroll: true });
      origin.scrollIntoView({ block: "center" });
    } else if (isLater && !container.querySelector("[data-here]")) scrollTo(0, 0);
  } catch (error) {
    if (opened !== latest || error.name === "AbortError") return;
    fill(main, empty("This cannot be shown", error.message, h("a.button", { href: address("today") }, "Go to Today")));
  }
  document.title = `${VIEWS[route.view]?.[0] ?? main.querySelector("h1, h2").textContent} · Scrubjay`;
}

function markProject(link, route) {
  const view = route.view === "session" ? "today" : route.view === "document" ? "documents" : route.view;
  link.href = address(view, [], { ...(view === route.view ? Object.fromEntries(route.options) : {}), in: link.dataset.scope });
  if (link.dataset.scope === currentScope()) link.setAttribute("aria-current", "true");
  else link.removeAttribute("aria-current");
}

async function listProjects() {
  const home = await attempt(() => call("home"));
  if (!home) return;
  const rows = [{ scope: "", name: "Every project", turns: null }, ...home.scopes];
  const names = rows.map((row) => (row.scope === home.user ? "You, everywhere" : row.name));
  const links = rows.map((row, at) =>
    h("a", { "data-scope": row.scope, title: row.scope ? `${row.scope}: ${plural(row.turns, "turn")}, ${plural(row.memories, "fact")}, ${plural(row.documents, "document")}` : null },
      h("span", names[at]), row.turns === null ? null : h("small", number(row.turns + row.memories + row.documents))),
  );
  for (const link of links) markProject(link, currentRoute());
  const list = choice("Project", rows.map((row, at) => [row.scope, names[at]]), currentScope(), (scope) => {
    const route = currentRoute();
    location.hash = address(route.view === "session" ? "today" : route.view, [], { ...Object.fromEntries(route.options), in: scope });
  });
  fill(projects, h("h2", "Projects"), h("div.list", links), list);
}

function theme() {
  const set = (value) => {
    if (value) document.documentElement.dataset.theme = value;
    else delete document.documentElement.dataset.theme;
    try {
      if (value) localStorage.setItem("theme", value);
      else localStorage.removeItem("theme");
    } catch {
      // a browser without storage follows the system
    }
  };
  let saved = "";
  try {
    saved = localStorage.getItem("theme") ?? "";
  } catch {
    // as above
  }
  if (saved) document.documentElement.dataset.theme = saved;
  return choice("Light or dark", [["", "Light or dark: system"], ["light", "Light"], ["dark", "Dark"]], saved, set);
}

function help() {
  const dialog = h("dialog", { "aria-label": "Keys" }, h("form", { method: "dialog" }, h("h2", "Keys"),
    h("dl.keys", KEYS.map(([keys, does]) => [h("dt", keys.split(" ").map((key) => (key.length && key !== "then" ? h("kbd", key) : ` ${key} `))), h("dd", does)])),
    h("div.row.end", h("button", { autofocus: true }, "Close"))));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

let pending = "";
function onKey(event) {
  const input = event.target.closest("input:not([type=checkbox]), textarea, select, dialog");
  if (event.key === "Escape" && !event.target.closest("dialog")) {
    if (input) input.blur();
    else if (currentRoute().parts.length && currentRoute().view !== "search") history.back();
    return;
  }
  if (input || event.ctrlKey || event.metaKey || event.altKey) return;
  if (pending === "g" && GOTO[event.key]) location.hash = address(GOTO[event.key]);
  else if (event.key === "/" && currentRoute().view === "search") searchAgain();
  else if (event.key === "/") location.hash = address("search");
  else if (event.key === "?") help();
  else if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
  else if (event.key === "x") document.activeElement?.closest(".item")?.querySelector("input[type=checkbox]")?.click();
  else {
    pending = event.key;
    return;
  }
  pending = "";
  event.preventDefault();
}

/** Focus the search box, with its words selected. */
function searchAgain() {
  const box = main.querySelector("[type=search]");
  box?.focus();
  box?.select();
}

/** Focus the next item that can be opened. */
function step(by) {
  const items = [...main.querySelectorAll(".item")];
  const at = items.indexOf(document.activeElement?.closest(".item"));
  const next = items[Math.min(Math.max(at + by, 0), items.length - 1)];
  const target = next?.matches("a, [tabindex]") ? next : next?.querySelector("a, [tabindex], button");
  target?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function frame() {
  nav = h("nav", { "aria-label": "Views" }, Object.entries(VIEWS).map(([view, [name, path]]) =>
    h("a", { "data-view": view, href: address(view) }, s("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, s("path", { d: path })), name)));
  const skip = button("Skip to content", () => main.focus(), { plain: true });
  skip.classList.add("skip");
  document.body.replaceChildren(skip,
    h("aside", h("a.brand", { href: address("today", [], { in: "" }) }, h("img", { src: "icon.svg", alt: "" }), "Scrubjay"), nav, projects,
      h("div.foot", live, theme(), button("Keys", help, { plain: true }))),
    main, toasts);
}

function showState({ detail }) {
  live.className = `live ${detail}`;
  live.textContent = { live: "Live", waiting: "Connecting …", ended: "The engine has ended" }[detail];
  if (detail === "ended") say("The engine has ended. `scrubjay open` starts it again.");
}

function showLocked(sentence = "This browser has not opened a link.") {
  document.body.replaceChildren(h("main.locked", empty("Not open", sentence, "Run `scrubjay open` in a terminal: it creates a link that works once, for one browser.")));
}

async function start() {
  addEventListener("locked", () => showLocked());
  frame();
  news.addEventListener("state", showState);
  addEventListener("hashchange", () => (location.hash.startsWith("#key=") ? location.reload() : open())); // a new link in the same tab
  addEventListener("keydown", onKey);
  const opening = open(); // at the same time the key is exchanged, which also returns the first data
  if (entering) {
    try {
      await entering;
    } catch (error) {
      // if a used link is opened again, the browser may already have its cookie
      const home = await call("home").catch(() => null);
      if (!home) return showLocked(error.message);
      await opening;
      await open();
    }
  }
  await opening;
  listen();
  listProjects();
  news.addEventListener("record", debounce(() => projects.contains(document.activeElement) || listProjects(), 1_000));
}

start();
