// Sessions by day and project, turns per day, waiting work, and the hosts.

import { button, calmly, empty, fill, h, s, tag } from "./dom.js";
import { call, news } from "./engine.js";
import { address, attempt, chosen, refine } from "./frame.js";
import { ago, bytes, dayName, firstLine, inline, isoDay, moment, month, plural, project, time } from "./words.js";

const PAGE = 40;
/** The first call of a page opened by a link, as `ask` makes it. */
export const FIRST = ["sessions", { size: PAGE }];
const WEEKS = innerWidth < 600 ? 8 : 16;

export async function show(place, where, signal) {
  let day = where.options.get("day") ?? "";
  let host = where.options.get("host") ?? "";
  let shown = PAGE;
  let known = []; // hosts on this machine
  let stored = {}; // counts by host, from `status`
  const ask = () => call("sessions", { scope: chosen(), host, day, size: Math.min(shown, 200) }, signal);
  const list = h("div.sessions");
  const chart = h("div.chart");
  const state = h("section.card.state", { "aria-busy": "true" }, h("h2", "Waiting"), h("p.faint", "Looking …"));
  const hosts = h("section.card");
  const chips = h("div.row.chips");

  const choose = (change) => {
    ({ day = day, host = host } = change);
    refine({ day, host });
    return attempt(draw);
  };
  async function draw(fresh = null) {
    const asked = ask();
    moment(Date.now()); // while the engine works, so that the date formatters are ready for its answer
    const found = await asked;
    fill(chart, bars(found.days, day, (each) => choose({ day: each })));
    fill(chips, day && chip(`Day: ${dayName(day)}`, () => choose({ day: "" })), host && chip(`Host: ${host}`, () => choose({ host: "" })));
    const kept = document.activeElement?.id;
    hostRows(found);
    fill(list, found.results.length ? grouped(found.results, fresh) : nothing(found, day || host));
    if (found.total > found.results.length) {
      list.append(h("div.row", button(`Show more of ${plural(found.total, "session")}`, () => ((shown += PAGE), attempt(draw)))));
    }
    if (kept) document.getElementById(kept)?.focus({ preventScroll: true });
    if (found.behind) setTimeout(() => signal.aborted || again(), 2_000);
    return found;
  }
  const hostRows = (found) => fill(hosts, h("h2", "Hosts"), hostList(found.hosts, known, stored, host, choose));
  async function look(found) {
    const [status, machine] = await Promise.all([attempt(() => call("status", {}, signal)), attempt(() => call("hosts", {}, signal))]);
    if (status) fill(state, waiting(status)).removeAttribute("aria-busy");
    known = machine?.hosts ?? known;
    stored = status?.hosts ?? stored;
    if (!hosts.contains(document.activeElement)) hostRows(found);
  }
  const found = await draw();
  fill(place, h("div.top", h("h1", chosen() ? project(chosen()) : "Today"), chips), chart, h("div.cards", state, hosts), list);
  look(found);

  const changed = new Set();
  const again = calmly(async () => {
    const fresh = new Set(changed);
    changed.clear();
    const now = await attempt(() => draw(fresh));
    if (now) look(now);
  }, 300);
  news.addEventListener("record", ({ detail }) => {
    if (detail.kind === "turn") changed.add(`${detail.scope} ${detail.session_id}`);
    again();
  }, { signal });
}

const chip = (text, onclick) => h("button.chip.on", { type: "button", onclick, title: "Show all again" }, text, " ×");

function nothing(found, narrowed) {
  if (narrowed) return empty("No session matches", "Remove a chip above to see more.");
  if (chosen()) return empty("No session of this project yet", "Sessions in its folder appear here as soon as they are captured.");
  return empty(
    "Nothing is remembered yet",
    h("span", "First connect your assistants: ", h("code", "scrubjay setup"), ". Then work as always; each turn appears here by itself."),
    h("span", "To import earlier sessions, run ", h("code", "scrubjay import --from all"), "."),
    h("span", "To see what it looks like with a made-up session, run ", h("code", "scrubjay demo"), "."),
  );
}

function grouped(sessions, fresh) {
  const days = Map.groupBy(sessions, (each) => isoDay(each.ended_at));
  return [...days].map(([day, ofDay]) => {
    const projects = Map.groupBy(ofDay, (each) => each.scope);
    return h("section.day", { "aria-label": dayName(day) }, h("h2", dayName(day), h("small", plural(ofDay.reduce((sum, each) => sum + each.turns, 0), "turn"))),
      [...projects].map(([scope, rows]) => h("div.group", chosen() ? null : h("h3", project(scope)), rows.map((each) => row(each, fresh)))));
  });
}

function row(each, fresh) {
  const id = `${each.scope} ${each.session_id}`;
  return h(`a.item.session${fresh?.has(id) ? ".fresh" : ""}`, { href: address("session", [each.scope, each.session_id], { in: chosen() }), id: `session ${id}` },
    h("span.when", time(each.ended_at)),
    h("span.what", h("b", { dir: "auto" }, each.title || "A session without text"), h("span.faint", { dir: "auto" }, firstLine(each.summary.replace(/^[A-Z][a-z ]+: /, ""), 220))),
    h("span.meta", tag(each.host), h("span.count", plural(each.turns, "turn"))));
}

/** Turns per day of the last weeks, as bars; arrow keys move, Enter selects. */
function bars(days, chosenDay, choose) {
  const today = new Date();
  const count = WEEKS * 7;
  const all = Array.from({ length: count }, (_, at) => isoDay(new Date(today.getFullYear(), today.getMonth(), today.getDate() - count + 1 + at)));
  const values = all.map((day) => days[day] ?? 0);
  const most = Math.max(...values, 1);
  const width = 8;
  const height = 64;
  const total = values.reduce((sum, each) => sum + each, 0);
  const at = (day) => all.indexOf(day);
  const tip = h("span.tip", { role: "status" });
  const say = (day) => {
    tip.textContent = day ? `${dayName(day)}: ${plural(days[day] ?? 0, "turn")}` : `${plural(total, "turn")} in ${WEEKS} weeks`;
  };
  const rects = all.map((day, index) => {
    const tall = values[index] ? Math.max(3, Math.round((values[index] / most) * height)) : 1;
    return s("rect", { x: index * width + 1, y: height - tall, width: width - 2, height: tall, rx: 1, class: [values[index] ? "bar" : "bar none", day === chosenDay ? "on" : ""].join(" ") });
  });
  const hit = (event) => {
    const box = picture.getBoundingClientRect();
    return Math.min(count - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * count)));
  };
  let cursor = chosenDay ? at(chosenDay) : count - 1;
  const move = (to) => {
    rects[cursor]?.classList.remove("at");
    cursor = Math.min(count - 1, Math.max(0, to));
    rects[cursor].classList.add("at");
    say(all[cursor]);
  };
  const months = all.flatMap((day, index) => (day.endsWith("-01") ? [s("text", { x: index * width, y: height + 13, class: "axis" }, month(day))] : []));
  const picture = s("svg", {
    viewBox: `0 0 ${count * width} ${height + 16}`,
    role: "slider", tabindex: "0", "aria-label": "Turns per day", "aria-valuemin": 0, "aria-valuemax": count - 1, "aria-valuenow": cursor, "aria-valuetext": `${plural(total, "turn")} in ${WEEKS} weeks`,
    onpointermove: (event) => move(hit(event)),
    onpointerleave: () => (rects[cursor]?.classList.remove("at"), say(chosenDay)),
    onclick: (event) => choose(all[hit(event)] === chosenDay ? "" : all[hit(event)]),
    onkeydown: (event) => {
      const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7, Home: -count, End: count };
      if (event.key in steps) {
        move(cursor + steps[event.key]);
        picture.setAttribute("aria-valuenow", cursor);
        picture.setAttribute("aria-valuetext", `${dayName(all[cursor])}: ${plural(values[cursor], "turn")}`);
      } else if (event.key === "Enter" || event.key === " ") choose(all[cursor] === chosenDay ? "" : all[cursor]);
      else return;
      event.preventDefault();
    },
  }, rects, months);
  say(chosenDay);
  return [picture, tip];
}

/** For each host its turns, the time of the last one, and its problems, in the words of `status` and `doctor`. */
function hostList(seen, known, stored, chosenHost, choose) {
  const titles = new Map(known.map((each) => [each.host, each.title]));
  const troubles = new Map(known.map((each) => [each.host, each.trouble]));
  const silent = known.filter((each) => (each.capture || each.trouble.length) && !seen.some((other) => other.host === each.host));
  const rows = [...seen.slice(0, 8), ...silent].map(({ host, turns, last_seen: last }) => h("li",
    turns ? h("button.plain", { type: "button", id: `host ${host}`, title: "Only its sessions", "aria-pressed": String(chosenHost === host), onclick: () => choose({ host: chosenHost === host ? "" : host }) }, titles.get(host) ?? host) : h("span", titles.get(host)),
    h("span.count", turns ? plural(turns, "turn") : "nothing received yet"), turns ? h("span.faint", ago(last)) : null,
    [...(stored[host]?.trouble ?? []), ...(troubles.get(host) ?? [])].map((each) => h("span.warn", inline(each)))));
  return rows.length ? h("ul.plain", rows) : h("p.faint", "No host has sent a turn yet.");
}

/** Waiting work and problems, in the words of `scrubjay status`. */
function waiting(status) {
  const { records, spool, disk } = status;
  const trouble = [status.trouble, status.failure, ...status.repairs, ...status.errors, ...status.set_aside].filter(Boolean);
  return [h("h2", "Waiting"),
    meter("write", "to be stored", spool.waiting, spool.waiting, "every captured turn is stored"),
    meter("passage", "without a vector; found by words", records.waiting_for_vector, records.passages, "everything can be found by meaning"),
    spool.set_aside ? h("p.warn", `${plural(spool.set_aside, "write")} unreadable and moved away`) : null,
    h("p.faint", `${plural(records.turns, "turn")}, ${plural(records.memories, "fact")}, ${plural(records.documents, "document")}; ${bytes(disk.bytes)} on disk`),
    status.capture.paused ? h("p.warn", "Capture is paused. Resume it in Settings.") : null,
    trouble.length ? h("ul.warn", trouble.slice(-4).map((each) => h("li", each))) : null];
}

function meter(noun, what, count, total, none) {
  const share = total ? count / total : 0;
  const says = count ? `${plural(count, noun)} ${count === 1 ? "waits" : "wait"} ${what}` : none;
  return h("div.meter", h("span", says), h("progress", { max: 1, value: 1 - share, "aria-label": says }));
}
