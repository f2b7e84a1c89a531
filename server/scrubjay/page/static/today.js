// What was done, by day and project; turns per day, waiting work, hosts, and what models were given.

import { button, debounce, empty, fill, h, s, tag } from "./dom.js";
import { call, news } from "./engine.js";
import { address, attempt, copy, currentScope, refine } from "./frame.js";
import { ago, dayName, inline, isoDay, moment, month, number, plural, project, time, times } from "./words.js";

const PAGE = 40;
const WEEKS = 8;
const SOON = 10_000; // milliseconds between two requests for the status; each one pauses background work for three seconds
const BEGIN = [
  ["scrubjay setup", "Connects your assistants. Then work as always: each turn appears here by itself."],
  ["scrubjay import --from all", "Imports the sessions that they have stored already."],
  ["scrubjay demo", "Shows what it does, with a made-up session in a home of its own."],
];

export async function show(container, route, signal) {
  let day = route.options.get("day") ?? "";
  let host = route.options.get("host") ?? "";
  let shown = Number(route.options.get("shown")) || PAGE;
  let timer = 0;
  let machine = { known: [], stored: {} }; // the hosts on this machine, and the stored problems by host from `status`
  const ask = () => call("sessions", { scope: currentScope(), host, day, size: Math.min(shown, 200) }, signal);
  const list = h("div.sessions");
  const chart = h("section.card.chart", { "aria-label": "Turns per day" });
  const state = h("section.card", { hidden: true });
  const hosts = h("section.card");
  const given = h("section.card", { hidden: true });
  const chips = h("div.row.chips");

  const choose = (change) => {
    ({ day = day, host = host } = change);
    refine({ day, host });
    return attempt(draw);
  };
  async function draw(fresh = null) {
    const request = ask();
    moment(Date.now()); // creates the date formatters while the engine works
    const answer = await request;
    chart.hidden = Object.keys(answer.days).length < 2;
    fill(chart, chart.hidden ? null : bars(answer.days, day, (each) => choose({ day: each })));
    fill(chips, day && chip(`Day: ${dayName(day)}`, () => choose({ day: "" })), host && chip(`Host: ${host}`, () => choose({ host: "" })));
    const focusedId = document.activeElement?.id;
    hostRows(answer);
    fill(list, answer.results.length ? grouped(answer, fresh) : nothing(answer, day || host));
    if (answer.total > answer.results.length) {
      list.append(h("div.row", button(`Show more of ${plural(answer.total, "session")}`, () => ((shown += PAGE), refine({ shown }), attempt(draw)))));
    }
    if (focusedId) document.getElementById(focusedId)?.focus({ preventScroll: true });
    if (answer.behind) setTimeout(() => signal.aborted || redraw(), 2_000);
    return answer;
  }
  const hostRows = (answer) => {
    const rows = hostList(answer.hosts, currentScope() ? null : machine, host, choose);
    hosts.hidden = !rows.length;
    fill(hosts, h("h2", "Hosts"), h("ul.plain", rows));
  };
  async function loadStatus() {
    clearTimeout(timer);
    const status = await attempt(() => call("status", {}, signal));
    if (status) showWaiting(state, status);
    if (status?.records.waiting_for_vector) timer = setTimeout(loadStatus, SOON);
    return status;
  }
  async function loadAside(answer) {
    const [status, local, log] = await Promise.all([
      loadStatus(), attempt(() => call("hosts", {}, signal)), attempt(() => call("given", { scope: currentScope() }, signal))]);
    if (log) showGiven(given, log, answer.results);
    machine = { known: local?.hosts ?? machine.known, stored: status?.hosts ?? machine.stored };
    if (!hosts.contains(document.activeElement)) hostRows(answer);
  }
  const answer = await draw();
  fill(container, h("div.top", h("h1", currentScope() ? project(currentScope()) : "Today"), chips), h("div.split.today", list, h("div.aside", state, chart, hosts, given)));
  loadAside(answer);

  const changed = new Set();
  const redraw = debounce(async () => {
    const fresh = new Set(changed);
    changed.clear();
    const sessions = await attempt(() => draw(fresh));
    if (sessions) loadAside(sessions);
  }, 300);
  news.addEventListener("record", ({ detail }) => {
    if (detail.kind === "turn") changed.add(`${detail.scope} ${detail.session_id}`);
    redraw();
  }, { signal });
}

const chip = (text, onclick) => h("button.chip.on", { type: "button", onclick, title: "Show all again" }, text, " ×");

function nothing(answer, narrowed) {
  if (narrowed) return empty("No session matches", "Remove a chip above to see more.");
  if (currentScope()) return empty("No session of this project yet", "Sessions in its folder appear here as soon as they are captured.");
  return h("section.card.begin", h("h2", "Nothing is remembered yet"), h("p.faint", "Begin in a terminal:"), h("dl", BEGIN.map(([command, does]) => [
    h("dt", h("code", command), button("Copy", () => attempt(() => copy(command)), { plain: true, "aria-label": `Copy ${command}` })), h("dd", does)])));
}

function grouped({ results, total }, fresh) {
  const days = Map.groupBy(results, (each) => isoDay(each.ended_at));
  const cutDay = total > results.length ? [...days.keys()].at(-1) : null; // some of its sessions are not shown
  return [...days].map(([day, ofDay]) => {
    const projects = Map.groupBy(ofDay, (each) => each.scope);
    return h("section.day", { "aria-label": dayName(day) }, h("h2", dayName(day), day === cutDay ? null : h("small", plural(ofDay.reduce((sum, each) => sum + each.turns, 0), "turn"))),
      [...projects].map(([scope, rows]) => h("div.group", currentScope() ? null : h("h3", project(scope)), rows.map((each) => row(each, fresh)))));
  });
}

/** A session with its title, its outcome and the open points. */
function row(each, fresh) {
  const id = `${each.scope} ${each.session_id}`;
  const line = (...labels) => labels.map((label) => each.summary.split("\n").find((text) => text.startsWith(`${label}: `))?.slice(label.length + 2)).find(Boolean);
  const outcome = line("Outcome", "Answered");
  const open = line("Open");
  return h(`a.item.session${fresh?.has(id) ? ".fresh" : ""}`, { href: address("session", [each.scope, each.session_id]), id: `session ${id}` },
    h("span.when", time(each.ended_at)),
    h("span.what", h("b", { dir: "auto" }, each.title || "A session without words"), outcome ? h("span", { dir: "auto" }, inline(outcome)) : null,
      open ? h("span.faint", { dir: "auto" }, h("b", "Left open: "), inline(open.replace(/^open: /i, ""))) : null),
    h("span.meta", tag(each.host), h("span.count", plural(each.turns, "turn"))));
}

/** A bar chart of the turns per day in the last weeks; arrow keys move the cursor, Enter selects the day. */
function bars(days, chosenDay, choose) {
  const today = new Date();
  const count = WEEKS * 7;
  const all = Array.from({ length: count }, (_, at) => isoDay(new Date(today.getFullYear(), today.getMonth(), today.getDate() - count + 1 + at)));
  const values = all.map((day) => days[day] ?? 0);
  const most = Math.max(...values, 1);
  const width = 4;
  const height = 40;
  const total = values.reduce((sum, each) => sum + each, 0);
  const at = (day) => all.indexOf(day);
  const tip = h("span.tip", { role: "status" });
  const say = (day) => {
    tip.textContent = day ? `${dayName(day)}: ${plural(days[day] ?? 0, "turn")}` : `${plural(total, "turn")} in ${WEEKS} weeks`;
  };
  const rects = all.map((day, index) => {
    const tall = values[index] ? Math.max(3, Math.round((values[index] / most) * height)) : 1;
    return s("rect", { x: index * width + 0.5, y: height - tall, width: width - 1, height: tall, class: [values[index] ? "bar" : "bar none", day === chosenDay ? "on" : ""].join(" ") });
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
  const months = all.flatMap((day, index) => (day.endsWith("-01") ? [s("text", { x: Math.min(index, count - 5) * width, y: height + 12, class: "axis" }, month(day))] : []));
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
  return [h("h2", "Turns per day"), picture, tip];
}

/** Each host with its turns and the time of the last one; without a chosen project also with its problems from `status` and `doctor`. */
function hostList(seen, machine, chosenHost, choose) {
  const { known, stored } = machine ?? { known: [], stored: {} };
  const titles = new Map(known.map((each) => [each.host, each.title]));
  const troubles = new Map(known.map((each) => [each.host, each.trouble]));
  const silent = known.filter((each) => (each.capture || each.trouble.length) && !seen.some((other) => other.host === each.host));
  return [...seen.slice(0, 8), ...silent].map(({ host, turns, last_seen: last }) => h("li",
    turns ? h("button.plain", { type: "button", id: `host ${host}`, title: "Only its sessions", "aria-pressed": String(chosenHost === host), onclick: () => choose({ host: chosenHost === host ? "" : host }) }, titles.get(host) ?? host) : h("span", titles.get(host)),
    h("span.count", turns ? plural(turns, "turn") : "nothing received yet"), turns ? h("span.faint", ago(last)) : null,
    [...(stored[host]?.trouble ?? []), ...(troubles.get(host) ?? [])].map((each) => h("span.warn", inline(each)))));
}

/** Show waiting work and problems as `scrubjay status` does; hide the card if the list is empty. */
function showWaiting(container, status) {
  const { records, spool } = status;
  const rows = [
    !currentScope() && spool.waiting ? h("p", `${plural(spool.waiting, "write")} ${spool.waiting === 1 ? "waits" : "wait"} to be stored.`) : null,
    !currentScope() && records.waiting_for_vector ? [h("p", `${plural(records.waiting_for_vector, "passage")} of ${number(records.passages)} can be found by words only, until each has a vector.`),
      h("progress", { max: records.passages, value: records.passages - records.waiting_for_vector, "aria-label": "Passages with a vector" })] : null,
    !currentScope() && spool.set_aside ? h("p.warn", `${plural(spool.set_aside, "write")} could not be read and moved away.`) : null,
    status.capture.paused ? h("p.warn", "Recording is paused. Resume it in Settings.") : null,
    ...[status.trouble, status.failure, ...status.repairs, ...status.errors, ...status.set_aside].filter(Boolean).slice(-4).map((each) => h("p.warn", each)),
  ].filter(Boolean);
  container.hidden = !rows.length;
  fill(container, h("h2", "Waiting"), rows);
}

/** List what models were given, newest first: when, by what, how many tokens, and in which of these sessions. */
function showGiven(container, { results, total, tokens }, sessions) {
  container.hidden = !total;
  const titles = new Map(sessions.map((each) => [each.session_id, each.title]));
  fill(container, h("h2", "Given to models"), h("p.faint", `${plural(tokens, "token")}, ${times(total)}`), h("ul.plain.given", results.map((each) => givenLine(each, each.session === "-" ? null
    : h("a", { href: address("session", [each.scope, each.session]) }, titles.get(each.session) ?? "its session")))));
}

export const givenLine = (each, what = null) => h("li", h("span.faint", moment(each.at)), h("span.count", plural(each.tokens, "token")),
  h("span", { opening: "session opening", prompt: "next to a prompt", search_memories: "search of memories", search_documents: "search of documents" }[each.by] ?? each.by, each.by === "opening" ? `: ${plural(each.sessions, "session")}, ${plural(each.facts, "fact")}` : "", what ? [", ", what] : null));
