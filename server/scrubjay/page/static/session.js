// One session, turn by turn: its outcome, the changed files, and what models were given.

import { button, debounce, fill, h, tag } from "./dom.js";
import { call, news } from "./engine.js";
import { UNCHANGED, restoreAll } from "./facts.js";
import { address, attempt, copy, say } from "./frame.js";
import { prose } from "./markdown.js";
import { givenLine } from "./today.js";
import { ago, date, inProject, inline, moment, number, oneLine, plural, project, time, times } from "./words.js";

const LABELS = { Outcome: "Outcome", Answered: "Answered", Asked: "Also asked", Open: "Left open", "": "Summary by the host" };
const FILES = 12; // to show at once
const PART = 40; // turns to load at once

export async function show(container, route, signal) {
  const [scope, session_id, turnNumber] = route.parts;
  const turn = turnNumber === undefined ? undefined : Number(turnNumber);
  const read = (options) => call("session", { scope, session_id, size: PART, ...options }, signal);
  let [view, outline, given] = await Promise.all([read({ turn }), call("outline", { scope, session_id }, signal), call("given", { scope, session_id, size: 40 }, signal)]);
  let first = view.start;
  let next = view.start + view.turns.length;
  const turns = h("div.turns", view.turns.map((each) => article(each, turn)));
  const earlier = h("div.row");
  const later = h("div.row");
  const showButtons = () => {
    fill(earlier, first > 0 && button(`Show ${number(Math.min(PART, first))} earlier turns`, async () => {
      const size = Math.min(PART, first);
      const more = await attempt(() => read({ start: first - size, size }));
      if (!more) return;
      first = more.start;
      turns.prepend(...more.turns.map((each) => article(each)));
      showButtons();
    }));
    fill(later, next < view.total && button(`Show ${number(Math.min(PART, view.total - next))} later turns`, async () => {
      const more = await attempt(() => read({ start: next }));
      if (!more) return;
      next += more.turns.length;
      turns.append(...more.turns.map((each) => article(each)));
      showButtons();
    }));
  };
  showButtons();
  const head = h("div.outline");
  const side = h("div.aside");
  const showOutline = () => (fill(head, points(outline.points, scope, session_id)), fill(side, aside(view, outline.files, given)));
  showOutline();
  fill(container,
    h("header.top", h("div", h("h1", { dir: "auto" }, view.title || "A session without words"),
      h("p.faint", project(scope), " · ", view.turns[0] ? date(view.turns[0].started_at) : "", " · ", plural(view.total, "turn"), " · ", h("code", session_id))),
    button("Copy as Markdown", () => attempt(async () => copy(await asMarkdown(view, outline.points, signal))))),
    head, h("div.split", h("div", earlier, turns, later), side),
  );
  container.addEventListener("shown", () => document.querySelector("[data-here]")?.scrollIntoView({ block: "start" }), { once: true });

  const redraw = debounce(async () => {
    const atEnd = next >= view.total;
    const from = Math.max(first, next - PART);
    view = (await attempt(() => read({ start: from, size: PART + 20 }))) ?? view;
    outline = (await attempt(() => call("outline", { scope, session_id }, signal))) ?? outline;
    showOutline();
    for (const each of view.turns) {
      const shown = document.getElementById(each.id);
      const updated = article(each);
      updated.classList.add("fresh");
      if (shown) {
        if (shown.dataset.changed !== each.updated_at) shown.replaceWith(updated);
      } else if (atEnd) turns.append(updated);
    }
    if (atEnd) next = Math.max(next, view.start + view.turns.length);
    showButtons();
  }, 300);
  news.addEventListener("record", ({ detail }) => detail.session_id === session_id && detail.scope === scope && redraw(), { signal });
}

/** The summary as a list; each point links to its turn. */
function points(rows, scope, session_id) {
  if (!rows.length) return null;
  const point = (each) => [inline(each.text), " ", each.turn === null ? null : h("a", { href: address("session", [scope, session_id, String(each.turn)]), "aria-label": `Turn ${each.turn}` }, `#${each.turn}`)];
  return h("section.card.summary", { "aria-label": "Summary" }, [...Map.groupBy(rows, (each) => each.label)].map(([label, group]) => [
    h("h2", LABELS[label]), h("ul", group.map((each) => h("li", { dir: "auto" }, point(each))))]));
}

function aside(view, files, given) {
  const linkTo = (turn) => h("a", { href: address("session", [view.scope, view.session_id, String(turn)]) }, `#${turn}`);
  const card = (title, rows) => (rows.length ? h("section.card", h("h2", title), h("ul.plain", rows)) : null);
  const touched = Object.entries(files).map(([path, turns]) => h("li", h("code", path), " ", turns.slice(0, 6).map((turn) => [linkTo(turn), " "])));
  return [
    card("Files", [...touched.slice(0, FILES), touched.length > FILES ? h("li.faint", `and ${number(touched.length - FILES)} more`) : null].filter(Boolean)),
    card("Facts saved", view.facts.map((each) => h("li", { dir: "auto" }, h("a", { href: address("facts", [each.id]) }, inline(oneLine(each.content)))))),
    card("Documents", view.documents.map((each) => h("li", h("a", { href: address("document", [each.id]) }, each.title ?? each.path ?? each.id)))),
    card("Recalled from it", view.recalled.map((each) => h("li", linkTo(each.turn), h("span.faint", ` ${times(each.times)}, last ${ago(each.last)}`)))),
    card("Given to it", given.results.map((each) => givenLine(each))),
  ];
}

/** The whole session as Markdown, with shortened texts in full. */
async function asMarkdown(view, rows, signal) {
  const { scope, session_id, total } = view;
  const turns = [];
  while (turns.length < total) {
    const part = await call("session", { scope, session_id, start: turns.length, size: 200 }, signal);
    if (!part.turns.length) break;
    turns.push(...part.turns);
  }
  const summary = rows.map((each) => `- ${LABELS[each.label]}: ${each.text}`).join("\n");
  const sections = await Promise.all(turns.filter((each) => !each.forgotten_at).map(async (each) => `## Turn ${each.turn}, ${moment(each.started_at)}\n\n${await turnAsMarkdown(each)}`));
  return [`# ${view.title}`, `${project(scope)}, session ${session_id}`, summary, ...sections].filter(Boolean).join("\n\n");
}

async function turnAsMarkdown(turn) {
  const whole = turn.cut ? (await call("record", { id: turn.id })).record : turn;
  return [["You", whole.user], ["Assistant", whole.assistant], [turn.role, whole.text]].filter(([, text]) => text).map(([who, text]) => `**${who}:** ${text}`).join("\n\n");
}

function article(turn, linkedTurn = -1) {
  const link = address("session", [turn.scope, turn.session_id, String(turn.turn)]);
  const isHere = turn.turn === linkedTurn;
  const forgotten = Boolean(turn.forgotten_at);
  return h(`article.item.turn${forgotten ? ".gone" : ""}`, { id: turn.id, tabindex: "0", "data-changed": turn.updated_at, "data-here": isHere, "aria-label": `Turn ${turn.turn}` },
    h("div.head", h("a.number", { href: link, title: "Link to this turn" }, `${turn.turn}`), h("time", { datetime: turn.started_at, title: moment(turn.started_at) }, time(turn.started_at)),
      turn.access_count ? h("span.faint", `recalled ${times(turn.access_count)}, last ${ago(turn.last_accessed_at)}`) : null,
      turn.alike?.length ? h("span.faint", `repeats ${plural(turn.alike.length, "older turn")}`) : null,
      (turn.tags ?? []).map((each) => tag(`#${each}`)),
      h("span.space"), actions(turn)),
    forgotten ? h("p.faint", `Forgotten on ${moment(turn.forgotten_at)}${turn.forget_reason ? `: ${turn.forget_reason}` : ""}.`) : null,
    turn.purged_at ? h("p.faint", "Its texts were permanently deleted.") : null,
    side(turn, "user", "You"), side(turn, "assistant", "Assistant"), turn.text ? side(turn, "text", turn.role) : null,
    touched(turn));
}

function side(turn, name, who) {
  const text = turn[name];
  if (!text) return null;
  const length = turn.cut?.[name];
  const more = length ? { length, load: async () => (await call("record", { id: turn.id })).record[name] } : null;
  return h(`div.side.${name === "user" ? "asked" : "answered"}`, h("span.who", who), prose(text, { more, rich: name !== "user" }));
}

function touched(turn) {
  const commands = Array.isArray(turn.metadata?.commands) ? turn.metadata.commands : [];
  const rows = [["Tools", turn.tools], ["Files", turn.files?.map((each) => inProject(each, turn.scope))], ["Commands", commands]].filter(([, each]) => each?.length);
  if (!rows.length) return null;
  return h("dl.touched", rows.map(([name, each]) => [h("dt", name), h("dd", each.slice(0, 40).map((one) => h("code", String(one))), each.length > 40 ? ` and ${number(each.length - 40)} more` : "")]));
}

/** The menu of a turn, closed at first. */
function actions(turn) {
  if (turn.purged_at) return null;
  const reload = async () => {
    const answer = await call("session", { scope: turn.scope, session_id: turn.session_id, turn: turn.turn, size: 1, start: 0 });
    const fresh = answer.turns.find((each) => each.id === turn.id);
    if (fresh) document.getElementById(turn.id)?.replaceWith(article(fresh));
  };
  const restore = () => restoreAll([turn.id], reload, "turn");
  const forget = () => attempt(async () => {
    const { ids } = await call("forget", { ids: [turn.id] });
    await reload();
    if (ids.length) say(`Turn ${turn.turn} is forgotten: searches no longer find it.`, restore);
    else say(UNCHANGED);
  });
  const item = (label, work) => button(label, () => ((menu.open = false), work()), { plain: true });
  const menu = h("details.menu", {
    onfocusout: (event) => event.relatedTarget && !menu.contains(event.relatedTarget) && (menu.open = false),
    onkeydown: (event) => event.key === "Escape" && menu.open && ((menu.open = false), event.stopPropagation()),
  }, h("summary", { "aria-label": `Menu of turn ${turn.turn}` }, "⋯"), h("div.card",
    item("Copy as Markdown", () => attempt(async () => copy(await turnAsMarkdown(turn)))),
    item("Copy its id", () => attempt(() => copy(turn.id))),
    turn.forgotten_at ? item("Restore", restore) : item("Forget", forget)));
  return menu;
}
