// Facts: find them, look through them one by one, correct and forget them, and see their history.

import { button, choice, debounce, empty, fill, h, tag } from "./dom.js";
import { call, news } from "./engine.js";
import { address, attempt, askToConfirm, currentScope, refine, say } from "./frame.js";
import { prose } from "./markdown.js";
import { date, inline, moment, number, oneLine, plural, project, time, times } from "./words.js";

export const UNCHANGED = "Nothing changed: it was already forgotten or deleted.";
const PAGE = 50;
const AT_ONCE = 10; // facts that one call compares with all others
const KINDS = { mem_semantic: "fact", mem_preference: "preference", mem_procedural: "how to", mem_episodic: "event", mem_hippocampus: "inbox" };
const WHICH = [["", "Current"], ["new", "New, not looked at"], ["changed", "Changed in 7 days"], ["contradicting", "May contradict another"], ["unrecalled", "Never recalled"], ["forgotten", "Forgotten"]];
const ORDER = [["updated_at", "Changed last"], ["created_at", "Newest first"]];
// Facts to look through one by one: the heading, the text when all are done, and what the key `k` does.
const REVIEWS = {
  new: ["New facts", ["All looked through", "Facts that assistants save appear here until you keep, edit or forget them, for 30 days."], "Keep"],
  contradicting: ["Facts that may contradict another", ["No contradictions", "Facts that do not agree appear here until you edit or forget one of them, or keep both."], "Keep both"],
};
const SAYS = { contradict: "It may contradict", newer: "A newer one says", older: "An older one says" };
const OF_HOST = / memory$/; // ends the source of a fact from a host's own memory
const DISTILLED = "distilled";
const DELETED = "deleted by its host";

const from = (source) => source.replace(/^(mcp|hook|import|engine):/, "");

export async function show(container, route, signal) {
  if (Object.hasOwn(REVIEWS, route.parts[0] ?? "")) return review(container, route.parts[0], signal);
  if (route.parts[0]) return showOne(container, route, signal);
  const get = (name, missing = "") => route.options.get(name) ?? missing;
  const state = { which: get("which"), words: get("words"), kind: get("kind"), tag: get("tag"), source: get("source"), sort: get("sort", "updated_at") };
  let shown = Number(get("shown")) || PAGE;
  const picked = new Set();
  const list = h("div.facts");
  const bulk = h("div.row.bulk", { "aria-live": "polite" });
  const filters = h("div.row.chips");
  const fresh = h("div.row");

  async function draw() {
    const pages = [];
    for (let start = 0; start < shown; start += 200) {
      pages.push(call("facts", { scope: currentScope(), ...state, start, size: Math.min(200, shown - start) }, signal));
    }
    const answers = await Promise.all(pages);
    const facts = answers.flatMap((answer) => answer.results);
    const { total, values, fresh: waiting } = answers[0];
    const ids = new Set(facts.map((fact) => fact.id));
    for (const id of picked) if (!ids.has(id)) picked.delete(id);
    const pairs = state.which === "contradicting";
    const count = pairs ? total : waiting;
    if (!state.words) fill(fresh, count ? h("a.button", { href: address("facts", [pairs ? "contradicting" : "new"]) }, `Look through ${pairs ? `these ${number(count)}` : plural(count, "new one")}`) : null);
    for (const [id, rival] of answers.flatMap((answer) => Object.entries(answer.rivals))) compared.set(id, rival);
    if (!filters.contains(document.activeElement)) drawFilters(values);
    fill(list, facts.length ? (pairs ? disagreeing(facts) : [facts]).map((group) => h(pairs ? "div.card.pair" : "div", group.map((fact) => row(fact, picked, drawBulk)))) : nothing(state));
    if (total > facts.length) list.append(h("div.row", button(`Show more of ${plural(total, "fact")}`, () => ((shown += PAGE), refine({ shown }), attempt(draw)))));
    drawBulk(facts);
    markAlike(list, facts.filter((each) => !each.forgotten_at).slice(0, PAGE), signal);
  }
  const narrow = (name) => (value) => ((state[name] = value), refine({ ...state, shown: "" }), (shown = PAGE), attempt(draw));
  function drawFilters(values) {
    const filter = (name, label, every, textOf) => {
      const rows = Object.entries(values[name]).map(([value, count]) => [value, `${textOf(value)} (${number(count)})`]);
      if (state[name] && !values[name][state[name]]) rows.push([state[name], textOf(state[name])]);
      return rows.length > 1 || state[name] ? choice(label, [["", every], ...rows], state[name], narrow(name)) : null;
    };
    fill(filters, choice("Which", WHICH, state.which, narrow("which")), filter("kind", "Kind", "Every kind", (kind) => KINDS[kind] ?? kind),
      filter("tag", "Tag", "Every tag", (name) => `#${name}`), filter("source", "From", "From anywhere", from), choice("Order", ORDER, state.sort, narrow("sort")),
      state.tag === DISTILLED && currentScope() ? button("Take back the last run", () => takeBack([], draw)) : null);
  }
  let shownFacts = [];
  function drawBulk(facts = shownFacts) {
    shownFacts = facts;
    const ids = [...picked];
    const forgotten = facts.filter((fact) => picked.has(fact.id) && fact.forgotten_at).map((fact) => fact.id);
    const current = ids.filter((id) => !forgotten.includes(id));
    fill(bulk, ids.length ? [h("b", `${plural(ids.length, "fact")} chosen`), current.length ? button("Forget …", () => forgetAll(current, done)) : null, forgotten.length ? button("Restore", () => restoreAll(forgotten, done)) : null,
      button("Delete permanently …", () => purgeAll(ids, done)), button("Choose none", () => (picked.clear(), attempt(draw)), { plain: true })] : null);
    bulk.hidden = !ids.length;
  }
  const done = () => (picked.clear(), attempt(draw));

  const form = h("details.card.add", h("summary", "Add a fact"), editor({ label: "One fact, understandable on its own", save: "Save", withScope: true, onsave: (fields) => attempt(async () => {
    const added = await call("add", fields);
    const undo = added.action === "known" ? null : async () => (await call("forget", { ids: [added.id] }), await draw());
    say({ stored: "Saved.", known: "This fact already exists.", updated: "Saved as a new version." }[added.action], undo);
    if (added.similar?.length) say(`Like it: ${oneLine(added.similar[0].memory, 120)}`);
    form.open = false;
    await draw();
    return true;
  }) }));
  const soon = debounce(narrow("words"), 200);
  const box = h("input", { type: "search", value: state.words, placeholder: "Find words in facts", "aria-label": "Find in facts", autocomplete: "off", oninput: () => soon(box.value.trim()) });
  fill(container, h("div.top", h("h1", "Facts"), fresh), h("div.searchbar", box), filters, form, bulk, list);
  await draw();
  const redraw = debounce(() => attempt(draw), 600);
  news.addEventListener("record", ({ detail }) => detail.kind === "memory" && !container.contains(document.activeElement?.closest("textarea")) && redraw(), { signal });
}

const nothing = (state) => (Object.entries(state).some(([name, value]) => value && name !== "sort") ? empty("No fact matches", "Choose fewer words or filters above.")
  : empty("No facts yet", "A fact is one sentence worth remembering: a decision, a preference, a way of doing something.", "Models save them with the tool add_memory. You can add the first one above."));

function row(fact, picked, changed) {
  const box = h("input", { type: "checkbox", checked: picked.has(fact.id), "aria-label": `Choose: ${oneLine(fact.content, 60)}`, onchange: () => {
    if (box.checked) picked.add(fact.id);
    else picked.delete(fact.id);
    changed();
  } });
  return h(`div.item.fact${fact.forgotten_at ? ".gone" : ""}`, { "data-fact": fact.id }, box, h("a", { href: address("facts", [fact.id]), dir: "auto" }, inline(oneLine(fact.content, 400))), h("div.meta", badges(fact)));
}

const badges = (fact) => [
  fact.forgotten_at ? tag((fact.forget_reason ?? "").startsWith(DELETED) ? DELETED : "forgotten", "warn") : null,
  fact.metadata?.may_contradict ? tag("may contradict another", "warn") : null,
  fact.alike?.length ? tag("repeats another", "warn") : null,
  fact.tags?.includes(DISTILLED) ? tag(DISTILLED, "busy") : null,
  OF_HOST.test(fact.source) ? tag(`from ${fact.source}`, "busy") : null,
  fact.is_static ? tag("lasting") : null,
  fact.partition_id !== "mem_semantic" ? tag(KINDS[fact.partition_id] ?? fact.partition_id) : null,
  fact.version > 1 ? tag(`version ${fact.version}`) : null,
  (fact.tags ?? []).filter((each) => each !== DISTILLED).map((each) => tag(`#${each}`)),
  h("span.faint", project(fact.scope), " · ", date(fact.created_at), fact.access_count ? ` · recalled ${times(fact.access_count)}` : ""),
];

const compared = new Map(); // fact id -> its rival, if any; kept because comparing takes longer than listing

/** Mark facts that another one may contradict or that have a newer value, a few at a time. */
async function markAlike(list, facts, signal) {
  for (let at = 0; at < facts.length && !signal.aborted; at += AT_ONCE) {
    const part = facts.slice(at, at + AT_ONCE);
    const ids = part.map((fact) => fact.id).filter((id) => !compared.has(id));
    const rivals = ids.length ? await call("alike", { ids }, signal).catch(() => null) : {};
    if (!rivals) return;
    for (const id of ids) compared.set(id, rivals[id]);
    for (const fact of part) {
      const other = compared.get(fact.id);
      const meta = list.querySelector(`[data-fact="${CSS.escape(fact.id)}"] .meta`);
      if (!other || other.reason === "older" || !meta || meta.querySelector(".alike") || (other.reason === "contradict" && fact.metadata?.may_contradict)) continue;
      meta.prepend(h("span.tag.warn.alike", { title: other.memory }, other.reason === "contradict" ? "may contradict another" : "older"));
    }
  }
}

/** Group each fact with the rivals that come directly before it. */
function disagreeing(facts) {
  const groups = [];
  for (const fact of facts) {
    const last = groups.at(-1);
    if (last?.some((each) => compared.get(fact.id).id === each.id || compared.get(each.id).id === fact.id)) last.push(fact);
    else groups.push([fact]);
  }
  return groups;
}

/** Take back distilled facts, or without ids those of the last run; the facts that they replaced become current again. */
const takeBack = (ids, done, scope = currentScope()) => attempt(async () => {
  const { ids: removed } = await call("take-back", { scope, ids });
  say(`${plural(removed.length, "distilled fact")} taken back.`, removed.length ? () => restoreAll(removed, done) : null);
  await done();
});

/** Show new or contradicting facts one by one; keys keep, edit or forget them. */
async function review(container, which, signal) {
  const [title, done, keeps] = REVIEWS[which];
  let facts = [];
  let rivals = {};
  let total = 0;
  let at = 0;
  let editing = false;
  async function load() {
    const answer = await call("facts", { scope: currentScope(), which, sort: "created_at", size: 200 }, signal);
    ({ results: facts, total, rivals } = answer);
    at = Math.min(at, Math.max(facts.length - 1, 0));
    editing = false;
    draw();
  }
  const thenNext = (work) => () => attempt(async () => {
    if (!facts[at]) return;
    await work(facts[at]);
    await load();
  });
  const keep = thenNext((fact) => call("keep", { ids: [fact.id, rivals[fact.id]?.id].filter(Boolean) }));
  const forget = thenNext(async (fact) => {
    if (fact.tags?.includes(DISTILLED)) return takeBack([fact.id], load, fact.scope);
    await call("forget", { ids: [fact.id] });
    return say("Forgotten.", () => restoreAll([fact.id], load));
  });
  const move = (by) => () => ((at = Math.min(Math.max(at + by, 0), facts.length - 1)), (editing = false), draw());
  const edit = () => ((editing = true), draw(), container.querySelector("textarea")?.focus());
  const keys = { k: keep, e: edit, f: forget, j: move(1), n: move(1), p: move(-1) };
  function draw() {
    const fact = facts[at];
    const top = h("div.top", h("h1", title), h("a.button", { href: address("facts") }, "All facts"));
    if (!fact) return fill(container, top, empty(...done));
    const key = (letter, label, work) => button([h("kbd", letter), ` ${label}`], work);
    const near = h("div");
    fill(container, top, h("p.faint", { role: "status" }, `${number(at + 1)} of ${number(total)}`),
      h("section.card.big", { "data-fact": fact.id, tabindex: "-1", "aria-label": which === "new" ? "A new fact" : "A fact" }, editing
        ? editor({ label: "The current value", save: "Save and keep", text: fact.content, onsave: ({ content }) => attempt(async () => {
          const changed = await call("change", { id: fact.id, content });
          await call("keep", { ids: [changed.id] });
          await load();
        }) })
        : prose(fact.content), h("div.meta", badges(fact)), h("p.faint", `From ${from(fact.source)}, at ${time(fact.created_at)}. `, sessionLink(fact)), near),
      h("div.row", key("k", keeps, keep), key("e", "Edit", edit), key("f", fact.tags?.includes(DISTILLED) ? "Take back" : "Forget", forget), h("span.space"), key("p", "Previous", move(-1)), key("n", "Next", move(1)),
        which === "new" ? button(`Keep all ${number(facts.length)}`, () => attempt(async () => (await call("keep", { ids: facts.map((each) => each.id) }), await load())), { plain: true }) : null));
    showNear(near, fact);
    return undefined;
  }
  async function showNear(near, fact) {
    const other = rivals[fact.id] ?? (await call("alike", { ids: [fact.id] }, signal).catch(() => ({})))[fact.id];
    if (other && facts[at] === fact) fill(near, h("h2", SAYS[other.reason]), h("p", h("a", { href: address("facts", [other.id]), dir: "auto" }, oneLine(other.memory, 1_000)), h("span.faint", ` ${date(other.date)}`)));
  }
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest("input, textarea, select, dialog");
    if (event.key === "Escape" && editing) (editing = false), draw();
    else if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
    else keys[event.key]();
    event.preventDefault();
    event.stopPropagation(); // j and k move in other views
  }, { signal });
  await load();
}

const sessionLink = (fact) => (fact.session_id ? h("a", { href: address("session", [fact.scope, fact.session_id, ...(fact.turn === undefined ? [] : [String(fact.turn)])]) }, "Its session") : null);

async function showOne(container, route, signal) {
  let deleting = false;
  let isStale = false; // an update arrived while the user was editing or deleting
  const isBusy = () => deleting || Boolean(container.querySelector("details[open]"));
  const draw = async (mustWait = () => false) => {
    const detail = await call("fact", { id: route.parts[0] }, signal);
    isStale = mustWait();
    if (isStale) return;
    const { fact } = detail;
    const back = () => (location.hash = address("facts"));
    const change = h("details.card.add", h("summary", "Change it"), editor({ label: "The current value", save: "Save as a new version", text: fact.content, onsave: ({ content }) => attempt(async () => {
      const before = fact.content;
      const changed = await call("change", { id: fact.id, content });
      await draw();
      say("Saved. The old version stays in its history.", async () => (await call("change", { id: changed.id, content: before }), await draw()));
      return true;
    }) }));
    fill(container, h("div.top", h("h1", "A fact"), h("div.row",
      fact.forgotten_at ? button("Restore", () => restoreAll([fact.id], draw))
        : button("Forget …", () => forgetAll([fact.id], draw)),
      button("Delete permanently …", async () => {
        deleting = true;
        await purgeAll([fact.id], back);
        deleting = false;
        if (isStale) redraw();
      }))),
      h(`section.card.big${fact.forgotten_at ? ".gone" : ""}`, prose(fact.content), h("div.meta", badges(fact)),
        h("p.faint", `From ${from(fact.source)}, at ${time(fact.created_at)}. `, sessionLink(fact)),
        detail.mark ? h("p.warn", markText(detail.mark)) : null,
        fact.forgotten_at ? h("p.warn", `Forgotten on ${moment(fact.forgotten_at)}${fact.forget_reason ? `: ${fact.forget_reason}` : ""}.`) : null),
      fact.forgotten_at ? null : change,
      detail.repeats.length ? h("section.card", h("h2", "It repeats"), detail.repeats.map((each) => other(each.id, each.content, each.created_at))) : null,
      detail.like.length ? h("section.card", h("h2", "Similar facts"), detail.like.map((hit) => other(hit.id, hit.memory, hit.date, { known: tag("says the same", "warn"), update: tag("another value", "warn"), contradict: tag("may contradict it", "warn"), similar: tag("alike") }[hit.reason]))) : null,
      detail.versions.length ? h("section.card", h("h2", "Versions"), h("ol.versions", h("li", h("b", `version ${fact.version}, holds now`), h("span.faint", ` since ${moment(fact.created_at)}`)),
        detail.versions.map((each) => h("li", h("b", `version ${each.version}`), h("span.faint", ` of ${moment(each.created_at)}${each.replaced_at ? ` to ${moment(each.replaced_at)}` : ""}`), prose(each.content))))) : null,
      detail.related.length ? h("section.card", h("h2", "Linked"), detail.related.map((each) => other(each.id, each.memory, each.updated_at, tag(each.relation)))) : null,
      detail.documents.length ? h("section.card", h("h2", "From these documents"), detail.documents.map((each) => h("p", h("a", { href: address("document", [each.id]) }, each.title ?? each.path ?? each.id)))) : null);
  };
  const redraw = debounce(() => attempt(async () => {
    isStale = isBusy();
    if (isStale) return;
    try {
      await draw(isBusy);
    } catch (error) {
      if (error.status !== 404) throw error;
      fill(container, empty("It no longer exists", error.message));
    }
  }), 600);
  await draw();
  news.addEventListener("record", ({ detail }) => detail.kind === "memory" && redraw(), { signal });
  container.addEventListener("toggle", () => isStale && redraw(), { capture: true });
}

/** Why a fact may be outdated: what happened to the code that it names. */
const markText = (mark) => [`${mark.symbol ?? mark.path ?? "The code that it names"}: ${mark.text}. It was noted at commit `, h("code", mark.at.slice(0, 9)), "."];

const other = (id, text, at, badge = null) => h("div.item.fact", h("a", { href: address("facts", [id]), dir: "auto" }, inline(oneLine(text, 300))), h("div.meta", badge, h("span.faint", date(at))));

function editor({ label, save, text = "", withScope = false, onsave }) {
  const words = h("textarea", { rows: 3, maxlength: 10_000, required: true, "aria-label": label, placeholder: label, value: text, dir: "auto" });
  const tags = h("input", { type: "text", placeholder: "tags", title: "Separated by spaces", "aria-label": "Tags" });
  const kind = h("select", { "aria-label": "Kind" }, Object.entries(KINDS).map(([value, name]) => h("option", { value }, name)));
  const scope = currentScope();
  return h("form", { onsubmit: async (event) => {
    event.preventDefault();
    const fields = { content: words.value.trim() };
    if (withScope) Object.assign(fields, { scope: scope || "user", partition_id: kind.value, tags: tags.value.split(/[\s,#]+/).filter(Boolean) });
    if (fields.content && (await onsave(fields)) && withScope) event.target.reset();
  } }, words, h("div.row", withScope ? [kind, tags, h("span.faint", `for ${scope ? project(scope) : "you, in every project"}`)] : null, h("span.space"), h("button.first", { type: "submit" }, save)));
}

/** Forget with a reason; it can be undone. */
export async function forgetAll(ids, done, noun = "fact") {
  const reason = h("input", { type: "text", maxlength: 500, placeholder: "reason (optional)", "aria-label": "Reason" });
  if (!(await askToConfirm(`Forget ${plural(ids.length, noun)}?`, [h("p", "Searches no longer find it. It stays on the disk and can be restored."), reason], "Forget"))) return;
  await attempt(async () => {
    const { ids: forgotten } = await call("forget", { ids, reason: reason.value.trim() });
    if (forgotten.length) say(`${plural(forgotten.length, noun)} forgotten.`, () => restoreAll(forgotten, done, noun));
    else say(UNCHANGED);
    await done();
  });
}

/** Restore, and report how many were restored, how many searches still leave out, and how many are deleted; it can be undone. */
export const restoreAll = (ids, done, noun = "fact") => attempt(async () => {
  const { ids: restored, gone, unseen } = await call("restore", { ids });
  const reasons = Object.values(unseen);
  const which = restored.length === 1 ? "it" : `${number(reasons.length)} of them`;
  const but = reasons.length ? `, but searches leave ${which} out: ${[...new Set(reasons)].join("; ")}` : "";
  const rest = gone.length ? ` ${plural(gone.length, noun)} ${gone.length === 1 ? "is" : "are"} permanently deleted.` : "";
  say(`${plural(restored.length, noun)} restored${but}.${rest}`, restored.length ? async () => (await call("forget", { ids: restored }), await done()) : null);
  await done();
});

/** Delete permanently, after listing what else is deleted. */
export async function purgeAll(ids, done, noun = "fact") {
  const purge = await attempt(() => call("would-purge", { ids }));
  if (!purge) return;
  if (!purge.results.length) {
    say(UNCHANGED);
    await attempt(done);
    return;
  }
  const rows = purge.results.slice(0, 12).map((hit) => h("li", { dir: "auto" }, oneLine(hit.title || hit.memory || hit.chunk || hit.id, 140), h("span.faint", ` ${date(hit.date)}`)));
  const rest = purge.results.length - rows.length;
  const body = [h("p", `${plural(purge.results.length, "record")} will be deleted from the disk, older versions included. This cannot be undone.`), h("ul", rows), rest > 0 ? h("p.faint", `and ${number(rest)} more`) : null];
  if (!(await askToConfirm("Delete permanently?", body, "Delete permanently"))) return;
  await attempt(async () => {
    const { ids: purged } = await call("purge", { ids });
    say(`${plural(purged.length, "record")} permanently deleted.`);
    await done();
  });
}
