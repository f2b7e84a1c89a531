// Settings with their effects, the state of each host and of the engine, and export.

import { button, choice, debounce, fill, h, tag, toggle } from "./dom.js";
import { call, news } from "./engine.js";
import { attempt, currentScope, say } from "./frame.js";
import { ago, bytes, inline, moment, number, plural, project } from "./words.js";

// Each setting as a sentence around its control `{}`, and an explanation of its effect.
const SENTENCES = {
  paused: ["Pause recording {}", "Nothing that is said is recorded until you switch this off."],
  capture: ["Record {}", "What assistants are asked and answer, while they work.", { all: "every turn", salient: "turns that decide or explain something", summary_only: "every turn, but searches see only its gist", off: "nothing" }],
  min_length: ["Leave out prompts of fewer than {} characters", "So that “yes” and “go on” are not recorded."],
  excluded: ["Never record sessions in these folders {}", "Nor in folders below them."],
  chat_capture: ["In conversations over HTTP, let searches find {}", "Programs that keep whole conversations here often do not want their turns among the results.", { all: "every turn", salient: "turns that decide or explain something", summary_only: "the gist of every turn", off: "no turn" }],
  inject: ["Without being asked, give a model {}", "An opening has at most 300 tokens: the last session, what is open, and what matters in the project.", { off: "nothing", session: "an opening of each session", prompt: "an opening, and memories with each prompt", edit: "an opening, and warnings before edits and commands" }],
  effect: ["Leave one new session in {} without an opening", "So that `scrubjay effect` can compare sessions with and without. 0: none."],
  summary_every: ["Summarise a session after every {} turns", "And when it ends. The summary gives it its title."],
  roots: ["Assistants may add documents from these folders {}", "Besides their project's own folder."],
  idle_minutes: ["End the engine after {} minutes without a client", "It starts again by itself. Until then it keeps its model in memory."],
  late_interaction: ["Compare texts token by token too {}", "Finds more, and takes some disk space."],
  disk_limit_gb: ["Warn above {} GB on disk", "`scrubjay status` and `doctor` then say so. Nothing is deleted."],
  model: ["Understand meaning with the model {}", "`bundled`, `multilingual`, a folder, or a model on this disk. Run `scrubjay reindex` after changing it."],
  query_prompt: ["Begin each question for the model with {}", "`none`: as the model itself wants it."],
  document_prompt: ["Begin each stored text for the model with {}", "`none`: as the model itself wants it."],
  store: ["Keep records in {}", "`none`: on this machine. Or a bucket that several engines share, `s3://bucket/prefix`."],
};
const GROUPS = [
  ["What is recorded", ["paused", "capture", "min_length", "excluded", "chat_capture"]],
  ["What a model is given", ["inject", "effect", "summary_every"]],
  ["Documents", ["roots"]],
];
const LISTS = new Set(["excluded", "roots"]);

export async function show(container, route, signal) {
  const ask = () => Promise.all([call("settings", {}, signal), call("status", {}, signal), call("sessions", { size: 1 }, signal)]);
  const hosts = h("div");
  const engine = h("section.card");
  const showState = ([settings, status, sessions]) => {
    fill(hosts, hostTable(settings.hosts, sessions.hosts));
    fill(engine, about(status));
  };
  const first = await ask();
  const { settings } = first[0];
  const rows = new Map(settings.map((each) => [each.key, setting(each)]));
  const grouped = new Set(GROUPS.flatMap(([, keys]) => keys));
  const groups = [...GROUPS, ["The engine", settings.map((each) => each.key).filter((key) => !grouped.has(key))]];
  fill(container, h("div.top", h("h1", "Settings")),
    groups.map(([name, keys]) => h("section.card", h("h2", name), keys.filter((key) => rows.has(key)).map((key) => rows.get(key).line))),
    h("section.card", h("h2", "Hosts"), hosts,
      h("p.faint", inline("`scrubjay setup` connects or disconnects them; `scrubjay doctor` tests each of them."))),
    h("section.card", h("h2", "Take it with you"), h("p", inline("All records as lines of JSON, which `scrubjay import` reads on another machine.")),
      h("div.row", h("a.button", { href: "export", download: "" }, "Export everything"), currentScope() ? h("a.button", { href: `export?scope=${encodeURIComponent(currentScope())}`, download: "" }, `Export ${project(currentScope())}`) : null)),
    engine);
  showState(first);
  const reload = debounce(() => attempt(async () => {
    const now = await ask();
    for (const each of now[0].settings) rows.get(each.key)?.follow(each);
    showState(now);
  }), 600);
  for (const kind of ["record", "settings"]) news.addEventListener(kind, reload, { signal });
}

/** A table of hosts: if tools and capture are connected, and the turns that each host has sent. */
function hostTable(hosts, seen) {
  const sessions = new Map(seen.map((each) => [each.host, each]));
  const others = seen.filter((each) => !hosts.some((host) => host.host === each.host)).map((each) => ({ host: each.host, title: each.host }));
  if (!hosts.length && !others.length) return h("p.faint", "No assistant was found on this machine, and none has sent a turn.");
  const says = (has, may = true) => (has === undefined ? "–" : has ? "yes" : may ? h("span.warn", "not connected") : "it cannot");
  const cells = (each) => [h("b", each.title), says(each.tools), says(each.capture, each.may_capture), each.recall ?? "–", sessions.has(each.host) ? number(sessions.get(each.host).turns) : "", sessions.has(each.host) ? ago(sessions.get(each.host).last_seen) : ""];
  return h("div.wide", { tabindex: "0", role: "region", "aria-label": "Hosts" }, h("table", h("thead", h("tr", ["Host", "Tools", "Capture", "Automatic recall", "Turns", "Last seen"].map((each) => h("th", { scope: "col" }, each)))),
    h("tbody", [...hosts, ...others].map((each) => [h("tr", { title: each.lacks }, cells(each).map((cell) => h("td", cell))),
      (each.trouble ?? []).map((says) => h("tr", h("td.warn", { colspan: 6 }, inline(says))))]))));
}

/** The row of one setting; it shows changes from elsewhere, unless the user is typing in it. */
function setting(each) {
  const set = (value) => attempt(async () => {
    const before = each.folders ? JSON.stringify(each.folders) : each.value;
    const result = await call("set", { key: each.key, value });
    Object.assign(each, result);
    redraw();
    say(`Saved: ${each.key} = ${result.value}.${result.restart ? " The running engine keeps the old value; `scrubjay stop` ends it, and the next one uses the new value." : ""}`, async () => {
      Object.assign(each, await call("set", { key: each.key, value: before }));
      redraw();
    });
  });
  const [sentence, effect, names = {}] = SENTENCES[each.key] ?? [`${each.key} {}`, each.says];
  const [before, after] = sentence.split(" {}");
  const says = h("p.faint", { id: `says-${each.key}` }, inline(effect));
  let pending = null; // a change from elsewhere that came while the user was typing
  const follow = (now) => {
    const typing = document.activeElement?.closest('input[type="text"]');
    pending = typing && line.contains(typing) ? now : null;
    if (pending || now.value === each.value) return;
    Object.assign(each, now);
    redraw();
  };
  const line = h("div.setting", { title: each.key, onfocusout: () => pending && follow(pending) });
  const redraw = () => {
    pending = null;
    const changed = each.value === each.default ? null : tag(`changed from ${names[each.default] ?? each.default}`);
    fill(line, h("div.sentence", h("span", before), control(each, before, names, async (value) => {
      await set(value);
      redraw();
    }), after ? h("span", after.trim()) : null, changed), says);
  };
  redraw();
  return { line, follow };
}

function control(each, label, names, set) {
  const described = { "aria-label": label, "aria-describedby": `says-${each.key}` };
  if (each.value === "true" || each.value === "false") return toggle(each.value === "true" ? "on" : "off", each.value === "true", (on) => set(String(on)), described);
  if (each.choices) return choice(label, each.choices.map((value) => [value, names[value] ?? value]), each.value, set);
  if (LISTS.has(each.key)) return folders(each, set);
  const box = h("input", { type: "text", value: each.value, size: Math.min(40, Math.max(4, each.value.length + 1)), ...described, onchange: () => set(box.value) });
  return box;
}

function folders(each, set) {
  const listed = each.folders;
  const write = (rows) => set(JSON.stringify(rows));
  const box = h("input", { type: "text", placeholder: "/a/folder", "aria-label": `Add to ${each.key}` });
  return h("div.folders", h("ul.plain", listed.map((folder) => h("li", h("code", { dir: "auto" }, folder), button("×", () => write(listed.filter((other) => other !== folder)), { plain: true, "aria-label": `Take ${folder} away` })))),
    h("form.row", { onsubmit: (event) => (event.preventDefault(), box.value.trim() && write([...listed, box.value.trim()])) }, box, h("button", { type: "submit" }, "Add")));
}

function about(status) {
  const rows = [
    ["Version", status.version], ["Home", status.home], ["Running since", moment(status.started_at)], ["Model", status.model],
    ["Meaning", status.notice ?? status.trouble ?? "searches use meaning and words"], ["On disk", `${bytes(status.disk.bytes)} of at most ${bytes(status.disk.limit)}`],
    ["Index", `${plural(status.records.passages, "passage")}, ${number(status.records.waiting_for_vector)} without a vector yet`],
    status.peak_rss ? ["Memory", `${bytes(status.peak_rss)} at most so far`] : null,
    ...status.repairs.map((each) => ["Repaired", each]), ...status.errors.map((each) => ["Error", each]), ...status.set_aside.map((each) => ["Moved away", each]),
  ].filter(Boolean);
  return [h("h2", "This engine"), h("dl.about", rows.map(([name, text]) => [h("dt", name), h("dd", { dir: "auto" }, text)]))];
}
