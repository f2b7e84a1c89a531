// Formats numbers, times, project names and stored texts.

import { h } from "./dom.js";

const LINE = 4_000; // characters of a line to lay out at once; for a megabyte a browser takes seconds

// Creating formatters takes a browser tens of milliseconds, so each is created once, when needed.
const once = (make) => {
  let formatter;
  return () => (formatter ??= make());
};
export const number = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, ",");
export const plural = (count, noun, many = `${noun}s`) => `${number(count)} ${count === 1 ? noun : many}`;

/** "once", "2 times". */
export const times = (count) => (count === 1 ? "once" : `${number(count)} times`);

export function bytes(count) {
  const units = ["B", "kB", "MB", "GB"];
  let at = 0;
  while (count >= 1000 && at < 3) [count, at] = [count / 1000, at + 1];
  return `${count >= 10 || !at ? count.toFixed(0) : count.toFixed(1)} ${units[at]}`;
}

// Day, month and year are in the reader's order; the words are English.
const dates = once(() => new Intl.DateTimeFormat(undefined, { year: "numeric", month: "2-digit", day: "2-digit" }));
const clock = once(() => new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" }));
const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

export const time = (instant) => clock().format(new Date(instant));
export const date = (instant) => dates().format(new Date(instant));
export const month = (day) => MONTHS[new Date(`${day}T12:00:00`).getMonth()];
export const moment = (instant) => `${date(instant)} ${time(instant)}`;

/** The local day of an instant, in ISO 8601. */
export function isoDay(instant) {
  const at = new Date(instant);
  const two = (value) => String(value).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** "Today", "Yesterday", a weekday within the last days, else the date. */
export function dayName(day) {
  const at = new Date(`${day}T12:00:00`);
  const days = Math.round((new Date(`${isoDay(Date.now())}T12:00:00`) - at) / 86_400_000);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  return days > 1 && days < 7 ? `${WEEKDAYS[at.getDay()]}, ${date(at)}` : date(at);
}

/** How long ago an instant was, such as "5 min ago". */
export function ago(instant) {
  const seconds = (Date.now() - new Date(instant)) / 1000;
  if (seconds < 60) return "just now";
  for (const [unit, length] of [["min", 60], ["h", 3_600], ["days", 86_400]]) {
    const count = Math.floor(seconds / length);
    if (unit === "days" ? count < 60 : count < (unit === "min" ? 60 : 48)) return `${count} ${unit} ago`;
  }
  return date(instant);
}

/** The names of projects that their scopes do not spell, such as `größe`, as the engine sends them with each answer. */
export const ownNames = new Map();

/** The readable name of a project; "user" holds facts about the user in every project. */
export function project(scope) {
  if (scope === "user") return "you";
  if (ownNames.has(scope)) return ownNames.get(scope);
  const plain = scope.replace(/^(repo|dir)_/, "");
  return plain === scope ? scope : plain.slice(0, Math.max(plain.lastIndexOf("__"), 0)) || plain;
}

/** A path relative to the folder of its project, if that has the project's name. */
export function inProject(path, scope) {
  const [, ...rest] = path.replaceAll("\\", "/").split(`/${project(scope)}/`);
  return rest.join(`/${project(scope)}/`) || path;
}

/** A text on one line, cut to `most` characters. */
export const oneLine = (text, most = 160) => {
  const line = (text ?? "").replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most)}…` : line;
};

/** Text with `code` in it. */
export function inline(text) {
  return text.length > 50_000 ? wrapped(text) : withCode(text, wrapped);
}

/** A text with its code, between one to three backticks, as elements; `show` makes those of the rest. */
export const withCode = (text, show) => text.split(/(`{1,3}[^`\n]{1,200}`{1,3})/).map((part, at) => (at % 2 ? h("code", part.replace(/^`+|`+$/g, "")) : show(part)));

/** Cut a very long line into pieces that a browser can lay out. */
export function wrapped(text) {
  if (text.length <= LINE) return text;
  const pieces = [];
  for (let at = 0; at < text.length; at += LINE) pieces.push(h("span.piece", text.slice(at, at + LINE)));
  return pieces;
}

/** Mark matches in pieces of [text, how it matched], which is "word", "token", or "" for no match. */
export const marks = (pieces) => pieces.map(([text, by]) => (by ? h(by === "word" ? "mark" : "mark.near", text) : text));
