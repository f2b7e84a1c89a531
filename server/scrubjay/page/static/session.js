// One session, turn by turn.

import { button, calmly, fill, h, tag } from "./dom.js";
import { call, news } from "./engine.js";
import { UNCHANGED, restoreAll } from "./facts.js";
import { address, attempt, chosen, say } from "./frame.js";
import { ago, date, firstLine, moment, number, plural, project, prose, time } from "./words.js";

const STRETCH = 40;

export async function show(place, where, signal) {
  const [scope, session_id, wanted] = where.parts;
  const turn = wanted === undefined ? undefined : Number(wanted);
  const read = (options) => call("session", { scope, session_id, size: STRETCH, ...options }, signal);
  let view = await read({ turn });
  let first = view.start;
  let next = view.start + view.turns.length;
  const turns = h("div.turns", view.turns.map((each) => article(each, turn)));
  const earlier = h("div.row");
  const later = h("div.row");
  const buttons = () => {
    fill(earlier, first > 0 && button(`Show ${number(Math.min(STRETCH, first))} earlier turns`, async () => {
      const size = Math.min(STRETCH, first);
      const more = await attempt(() => read({ start: first - size, size }));
      if (!more) return;
      first = more.start;
      turns.prepend(...more.turns.map((each) => article(each)));
      buttons();
    }));
    fill(later, next < view.total && button(`Show ${number(Math.min(STRETCH, view.total - next))} later turns`, async () => {
      const more = await attempt(() => read({ start: next }));
      if (!more) return;
      next += more.turns.length;
      turns.append(...more.turns.map((each) => article(each)));
      buttons();
    }));
  };
  buttons();
  fill(place,
    h("header.top", h("div", h("h1", { dir: "auto" }, view.title || "A session without text"),
      h("p.faint", project(scope), " · ", view.turns[0] ? date(view.turns[0].started_at) : "", " · ", plural(view.total, "turn"), " · ", h("code", session_id)))),
    h("div.split", h("div", earlier, turns, later), aside(view)),
  );
  place.addEventListener("shown", () => document.querySelector("[data-here]")?.scrollIntoView({ block: "start" }), { once: true });

  const again = calmly(async () => {
    const atEnd = next >= view.total;
    const from = Math.max(first, next - STRETCH);
    view = (await attempt(() => read({ start: from, size: STRETCH + 20 }))) ?? view;
    for (const each of view.turns) {
      const old = document.getElementById(each.id);
      const made = article(each);
      made.classList.add("fresh");
      if (old) {
        if (old.dataset.changed !== each.updated_at) old.replaceWith(made);
      } else if (atEnd) turns.append(made);
    }
    if (atEnd) next = Math.max(next, view.start + view.turns.length);
    buttons();
  }, 300);
  news.addEventListener("record", ({ detail }) => detail.session_id === session_id && detail.scope === scope && again(), { signal });
}

function aside(view) {
  const summary = view.summary ? h("section.card", h("h2", "Summary"), prose(view.summary, { folded: false })) : null;
  const facts = h("section.card", h("h2", "Facts"), view.facts.length
    ? h("ul.plain", view.facts.map((each) => h("li", { dir: "auto" }, h("a", { href: address("facts", [each.id], { in: chosen() }) }, firstLine(each.content)))))
    : h("p.faint", "No fact was saved in this session."));
  const recalled = view.recalled.length
    ? h("section.card", h("h2", "Recalled from it"), h("ul.plain", view.recalled.map((each) => h("li", h("a", { href: address("session", [view.scope, view.session_id, String(each.turn)]) }, `#${each.turn}`), h("span.faint", ` ${plural(each.times, "time")}, last ${ago(each.last)}`)))))
    : null;
  const documents = view.documents.length
    ? h("section.card", h("h2", "Documents"), h("ul.plain", view.documents.map((each) => h("li", h("a", { href: address("document", [each.id]) }, each.title ?? each.path ?? each.id)))))
    : null;
  return h("div.aside", summary, facts, documents, recalled);
}

function article(turn, here = -1) {
  const link = address("session", [turn.scope, turn.session_id, String(turn.turn)]);
  const isHere = turn.turn === here;
  const forgotten = Boolean(turn.forgotten_at);
  return h(`article.item.turn${forgotten ? ".gone" : ""}`, { id: turn.id, tabindex: "0", "data-changed": turn.updated_at, "data-here": isHere, "aria-label": `Turn ${turn.turn}` },
    h("div.head", h("a.number", { href: link, title: "Link to this turn" }, `${turn.turn}`), h("time", { datetime: turn.started_at, title: moment(turn.started_at) }, time(turn.started_at)),
      turn.access_count ? h("span.faint", `recalled ${plural(turn.access_count, "time")}, last ${ago(turn.last_accessed_at)}`) : null,
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
  return h(`div.side.${name === "user" ? "asked" : "answered"}`, h("span.who", who), prose(text, { more }));
}

function touched(turn) {
  const commands = Array.isArray(turn.metadata?.commands) ? turn.metadata.commands : [];
  const rows = [["Tools", turn.tools], ["Files", turn.files], ["Commands", commands]].filter(([, each]) => each?.length);
  if (!rows.length) return null;
  return h("dl.touched", rows.map(([name, each]) => [h("dt", name), h("dd", each.slice(0, 40).map((one) => h("code", String(one))), each.length > 40 ? ` and ${number(each.length - 40)} more` : "")]));
}

function actions(turn) {
  if (turn.purged_at) return null;
  const again = async () => {
    const whole = await call("session", { scope: turn.scope, session_id: turn.session_id, turn: turn.turn, size: 1, start: 0 });
    const fresh = whole.turns.find((each) => each.id === turn.id);
    if (fresh) document.getElementById(turn.id)?.replaceWith(article(fresh));
  };
  const restore = () => restoreAll([turn.id], again, "turn");
  if (turn.forgotten_at) return button("Restore", restore, { plain: true });
  return button("Forget", () => attempt(async () => {
    const { ids } = await call("forget", { ids: [turn.id] });
    await again();
    if (ids.length) say(`Turn ${turn.turn} is forgotten: searches no longer find it.`, restore);
    else say(UNCHANGED);
  }), { plain: true });
}
