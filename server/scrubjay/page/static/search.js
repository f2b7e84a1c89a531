// Search while typing, with the reasons for each hit, and what a model would get.

import { button, choice, debounce, empty, fill, h, tag, toggle } from "./dom.js";
import { call } from "./engine.js";
import { address, attempt, currentScope, refine } from "./frame.js";
import { marks, moment, number, plural, project } from "./words.js";

const KINDS = { memory: "Facts", turn: "Turns", chunk: "Documents" };
const TIMES = [["", "Any time"], ["today", "Today"], ["7 days ago", "Last 7 days"], ["30 days ago", "Last 30 days"], ["365 days ago", "Last year"]];
// The parts of the ranking score, grouped for the reader.
const WHY = {
  meaning: ["meaning", ["meaning"]],
  words: ["words", ["words", "coverage"]],
  tokens: ["token by token", ["late", "tokens"]],
  context: ["its session", ["neighbours", "session", "alone"]],
  exact: ["names, dates, quotations", ["date", "speaker", "named", "answer", "quoted", "current"]],
};
const MARKED = 8; // hits in which to mark matches by meaning
const PAUSE = 40; // milliseconds; if keys come faster, only the first and the last start a search

export async function show(container, route, signal) {
  const get = (name) => route.options.get(name) ?? "";
  const state = { q: get("q"), kinds: get("kinds"), since: get("since"), until: get("until"), host: get("host"), tag: get("tag"), more: get("more"), model: get("model") };
  const results = h("div.results");
  const status = h("p.faint", { role: "status" });
  let running = null;

  const search = async () => {
    running?.abort();
    refine(state);
    if (!state.q.trim()) {
      status.textContent = "";
      fill(results, hint());
      return;
    }
    running = new AbortController();
    const controller = running;
    results.setAttribute("aria-busy", "true");
    signal.addEventListener("abort", () => controller.abort(), { once: true });
    const ask = (kinds) => call("search", {
      query: state.q, kinds, scope: currentScope(), host: state.host,
      since: state.since, until: state.until, tags: state.tag ? [state.tag.replace(/^#/, "")] : undefined, more: Boolean(state.more),
    }, controller.signal);
    const chosenKinds = state.kinds ? state.kinds.split(",") : Object.keys(KINDS);
    const memories = chosenKinds.filter((kind) => kind !== "chunk");
    const answer = memories.length ? await attempt(() => ask(memories)) : null;
    if (controller.signal.aborted) return;
    if (memories.length && !answer) { // it was refused, so the hits of the last search no longer fit
      status.textContent = "";
      fill(results).setAttribute("aria-busy", "false");
      return;
    }
    const focusedHref = results.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    if (answer) {
      status.textContent = summary(answer);
      results.classList.remove("split");
      fill(results, h("div.hits", state.model ? asModel(answer) : listed(answer, state, search)));
      if (!state.model) markMore(answer, controller.signal);
    }
    // A model searches documents with a separate tool. Documents belong to no host.
    const documents = chosenKinds.includes("chunk") && !state.host && !(state.model && answer) ? await attempt(() => ask(["chunk"])) : null;
    if (controller.signal.aborted) return;
    results.setAttribute("aria-busy", "false");
    if (!answer) {
      status.textContent = "";
      fill(results);
    }
    if (documents?.results.length) {
      results.classList.toggle("split", Boolean(answer));
      results.append(h(`div.hits${answer ? ".aside" : ""}`, h("h2", "Documents"), documents.results.map((hit) => hitRow(hit, strongest(documents)))));
    } else if (!answer) fill(results, empty("No document fits", "Try other words: a heading, a name, a number."));
    if (focusedHref) results.querySelector(`a[href="${CSS.escape(focusedHref)}"]`)?.focus({ preventScroll: true });
  };
  // Matches by meaning need the model, so they are marked only when the user stops typing.
  const markMore = debounce(async (answer, searchSignal) => {
    const hits = answer.results.slice(0, MARKED).filter((hit) => (hit.memory ?? hit.chunk ?? "").length <= 2_000);
    if (searchSignal.aborted || !hits.length) return;
    const more = await call("marked", { query: state.q, texts: hits.map((hit) => hit.memory ?? hit.chunk ?? "") }, searchSignal).catch(() => null);
    more?.results.forEach((pieces, at) => {
      const text = results.querySelector(`[data-hit="${CSS.escape(hits[at].id)}"]`);
      if (text && !searchSignal.aborted) fill(text, marks(pieces));
    });
  }, 300);
  const searchSoon = debounce(search, PAUSE);
  let typedAt = -PAUSE;
  const type = () => {
    const isFirst = performance.now() - typedAt > PAUSE;
    typedAt = performance.now();
    state.q = box.value;
    if (isFirst) search();
    else searchSoon();
  };
  const set = (name) => (value) => ((state[name] = value), search());

  const box = h("input", { type: "search", value: state.q, placeholder: "What do you want to remember?", "aria-label": "Search", "data-first": true, spellcheck: "false", autocomplete: "off",
    oninput: type,
    onkeydown: (event) => {
      if (event.key === "Enter" || event.key === "ArrowDown") (results.querySelector(".item"))?.focus(), event.preventDefault();
    } });
  const kinds = new Set(state.kinds ? state.kinds.split(",") : Object.keys(KINDS));
  const kindChips = Object.entries(KINDS).map(([kind, name]) => {
    const chip = h("button.chip", { type: "button", "aria-pressed": String(kinds.has(kind)), onclick: () => {
      if (kinds.has(kind) && kinds.size > 1) kinds.delete(kind);
      else kinds.add(kind);
      chip.setAttribute("aria-pressed", String(kinds.has(kind)));
      state.kinds = kinds.size === 3 ? "" : [...kinds].join(",");
      search();
    } }, name);
    return chip;
  });
  const hosts = h("span");
  const tagBox = h("input.small", { type: "text", value: state.tag, placeholder: "#tag", "aria-label": "Only with this tag", onchange: () => set("tag")(tagBox.value.trim()) });
  const until = h("input.small", { type: "date", value: state.until, "aria-label": "Until", onchange: () => set("until")(until.value) });
  fill(container, h("h1.unseen", "Search"), h("div.searchbar", box),
    h("div.row.chips", kindChips, currentScope() ? tag(project(currentScope())) : null, choice("Time", TIMES, state.since, set("since")), h("label.small", "until ", until), hosts, tagBox, h("span.space"),
      toggle("As a model sees it", Boolean(state.model), (on) => set("model")(on ? "1" : ""))),
    status, results);
  await search();
  call("sessions", { size: 1 }, signal).then((answer) => {
    const names = answer.hosts.map((each) => each.host);
    if (names.length > 1 || state.host) hosts.replaceChildren(choice("Host", [["", "Any host"], ...names.map((each) => [each, each])], state.host, set("host")));
  }, () => {});
}

const hint = () => empty("Search everything", "Ask as you would ask a colleague: a question, a name, an error message, a day.",
  "Facts and turns are those that a model gets for the same words, in the same order. Documents, for which a model asks separately, are next to them. The bar next to a hit shows why it was found.");

function summary(answer) {
  const hits = plural(answer.results.length, "memory", "memories");
  const sure = { strong: "", weak: ", only possibly related", none: "" }[answer.confidence];
  const period = answer.period ? `, ${answer.period}` : "";
  const note = answer.degraded ? ` ${answer.degraded}` : "";
  return `${hits}${sure}${period}; a model would see ${plural(answer.tokens.rendered, "token")}; ${Math.round(answer.timing)} ms.${note}`;
}

const asModel = (answer) => h("pre.model", { tabindex: "0", "aria-label": "What a model sees" }, answer.text);

function listed(answer, state, search) {
  const more = state.more
    ? button("Only what a model sees", () => ((state.more = ""), search()))
    : button("Show more than a model would see", () => ((state.more = "1"), search()));
  if (!answer.results.length) {
    return [empty("Nothing likely", "A model would be told that no memory answers this.", "Try other words: a name, a file, the day."), h("div.row", more)];
  }
  const most = strongest(answer);
  return [key(), h("h2", "Facts and turns"), answer.results.map((hit) => hitRow(hit, most)), answer.related.length ? [h("h2", "Related"), answer.related.map((hit) => hitRow(hit, most))] : null, h("div.row", more)];
}

const strongest = (answer) => Math.max(...answer.results.map((hit) => parts(hit).reduce((sum, [, value]) => sum + value, 0)), 1e-9);

/** The legend of the bars. */
const key = () => h("div.why.key", h("span", "Why it was found:"), Object.entries(WHY).map(([name, [says]]) => h("span", h(`i.${name}`), says)));

function target(hit) {
  if (hit.src === "turn") return address("session", [hit.scope, hit.session_id, String(hit.turn)]);
  return hit.src === "memory" ? address("facts", [hit.id]) : address("document", [hit.id]);
}

function hitRow(hit, most) {
  const state = hit.replaced_by ? tag("replaced since", "warn") : hit.contradicts ? tag("may contradict another", "warn") : hit.amended_by ? tag(hit.src === "turn" ? `later ${hit.amended_name ?? hit.amended_by}` : "older", "warn") : hit.is_latest === false ? tag(`version ${hit.version}`, "warn") : null;
  return h("a.item.hit", { href: target(hit) },
    h("div.head", tag({ memory: "fact", turn: "turn", chunk: "document" }[hit.src], `of-${hit.src}`), hit.title ? h("span", { dir: "auto" }, hit.title) : null, h("span.faint", project(hit.scope), " · ", moment(hit.date)),
      state, hit.mark ? h("span.tag.warn.whole", { title: `It names ${hit.mark.symbol ?? hit.mark.path ?? "code"}, as it was at commit ${hit.mark.at.slice(0, 9)}` }, hit.mark.text) : null, (hit.tags ?? []).map((each) => tag(`#${each}`)), hit.reason ? h("span.faint", { window: "next to a hit", relation: "linked to a hit", tag: `shares #${hit.via}`, entity: `names ${hit.via} too` }[hit.reason] ?? "") : null,
      h("span.space"), why(hit, most)),
    h("div.said", { dir: "auto", "data-hit": hit.id }, marks(hit.src === "chunk" ? hit.marked.map(([text, by]) => [text.replace(/^#{1,6} /gm, ""), by]) : hit.marked)));
}

const parts = (hit) => Object.entries(WHY).map(([name, [, of]]) => [name, of.reduce((sum, each) => sum + Math.max(0, hit.explain?.parts[each] ?? 0), 0)]);

/** A bar that shows the evidence for a hit; its length is the sum. */
function why(hit, most) {
  if (!hit.explain) return null;
  const values = parts(hit).filter(([, value]) => value > 0.004);
  const words = values.map(([name, value]) => `${WHY[name][0]} ${value.toFixed(2)}`).join(", ");
  const ranks = [["meaning", hit.explain.dense], ["words", hit.explain.lexical]].filter(([, leg]) => leg).map(([name, leg]) => `rank ${leg.rank} by ${name}`).join(", ");
  return h("span.why", { role: "img", "aria-label": `Why: ${words}`, title: `${words}\n${ranks}` },
    h("span.score", hit.score === undefined ? "" : number(Math.round(hit.score * 100))),
    h("span.bar", values.map(([name, value]) => h(`i.${name}`, { vars: { "--share": `${(100 * value) / most}%` } }))));
}
