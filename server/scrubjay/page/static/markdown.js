// Shows Markdown as elements. HTML in it stays text, and addresses do not become links.

import { button, h } from "./dom.js";
import { inline, number, withCode, wrapped } from "./words.js";

const LONG = 1_400; // characters from which a text is folded
const LONG_LINES = 22; // lines from which a text is folded
const DEEPEST = 8; // lists and quotations within each other
const FENCE = /^\s{0,3}(`{3,}|~{3,})\s*([^`\s]*)/;
const HEADING = /^\s{0,3}(#{1,6})\s+(.+)$/;
const RULE = /^\s{0,3}([-*_])(?:\s*\1){2,}\s*$/;
const QUOTE = /^\s{0,3}>\s?/;
const ITEM = /^(\s{0,40})([-*+]|\d{1,9}[.)])\s+(\S.*)$/;
const DIVIDER = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;
const SPAN = /(!?\[[^\]\n]{1,300}\]\([^()\n]{1,1000}\)|\*\*[^\s*][^*\n]{0,400}\*\*|~~[^~\n]{1,400}~~|(?<![\w*])\*[^\s*][^*\n]{0,300}\*(?![\w*]))/;

/** A text, folded if it is long; `more` loads the rest. It is Markdown if `rich`, else only code blocks are recognised. */
export function prose(text, { more = null, folded = true, rich = true } = {}) {
  const lines = text.split("\n");
  const isLong = folded && (text.length > LONG || lines.length > LONG_LINES);
  const short = isLong ? lines.slice(0, LONG_LINES).join("\n").slice(0, LONG) : text;
  const body = h("div.prose", { dir: "auto" }, blocks(short, rich));
  if (!isLong && !more) return body;
  const open = button(`Show all ${number(more?.length ?? text.length)} characters`, async () => {
    open.disabled = true;
    const whole = more ? await more.load() : text;
    body.replaceChildren(...blocks(whole, rich));
    open.remove();
    body.tabIndex = -1;
    body.focus({ preventScroll: true });
  }, { plain: true });
  body.classList.toggle("folded", isLong);
  open.addEventListener("click", () => body.classList.remove("folded"));
  return h("div", body, open);
}

/** The elements of a text. */
export const blocks = (text, rich = true) => parsed(text.split("\n"), rich ? KINDS : KINDS.slice(0, 1), 0);

/** Each kind of block: a test if it begins at a line, and a function that returns its element and the next line. */
const KINDS = [
  [(lines, at) => FENCE.test(lines[at]), fenced],
  [(lines, at) => HEADING.test(lines[at]), (lines, at) => [heading(HEADING.exec(lines[at])), at + 1]],
  [(lines, at) => RULE.test(lines[at]), (lines, at) => [h("hr"), at + 1]],
  [(lines, at) => QUOTE.test(lines[at]), quoted],
  [(lines, at) => ITEM.test(lines[at]), listed],
  [(lines, at) => lines[at].includes("|") && DIVIDER.test(lines[at + 1] ?? ""), table],
];

function parsed(lines, kinds, depth) {
  const elements = [];
  let paragraph = [];
  const close = () => {
    if (paragraph.length) elements.push(h("p", kinds.length > 1 ? spans(paragraph.join("\n")) : inline(paragraph.join("\n"))));
    paragraph = [];
  };
  const allowed = depth < DEEPEST ? kinds : KINDS.slice(0, 1);
  for (let at = 0; at < lines.length; ) {
    const kind = allowed.find(([begins]) => begins(lines, at));
    if (kind) {
      close();
      const [element, next] = kind[1](lines, at, depth);
      elements.push(element);
      at = next;
      continue;
    }
    if (lines[at].trim()) paragraph.push(lines[at]);
    else close();
    at += 1;
  }
  close();
  return elements;
}

function fenced(lines, at) {
  const [, fence, language] = FENCE.exec(lines[at]);
  const isEnd = (line) => {
    const end = FENCE.exec(line);
    return end && end[1].startsWith(fence) && !end[2];
  };
  const closing = lines.findIndex((line, index) => index > at && isEnd(line));
  const end = closing < 0 ? lines.length : closing;
  const label = language ? `Code, ${language.slice(0, 30)}` : "Code";
  const code = h("pre", { tabindex: "0", "aria-label": label, role: "region" }, h("code", wrapped(lines.slice(at + 1, end).join("\n"))));
  return [code, end + 1];
}

const heading = ([, marks, text]) => h(`h${Math.min(6, marks.length + 2)}`, spans(text.replace(/\s+#+\s*$/, "")));

function quoted(lines, at, depth) {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end])) end += 1;
  return [h("blockquote", parsed(lines.slice(at, end).map((line) => line.replace(QUOTE, "")), KINDS, depth + 1)), end];
}

const indent = (line) => line.length - line.trimStart().length;

function listed(lines, at, depth) {
  const [, pad, marker] = ITEM.exec(lines[at]);
  const isOrdered = /\d/.test(marker);
  const items = [];
  let end = at;
  for (; end < lines.length; end += 1) {
    const line = lines[end];
    const item = ITEM.exec(line);
    if (item && item[1].length <= pad.length + 1) {
      if (item[1].length < pad.length || /\d/.test(item[2]) !== isOrdered || RULE.test(line)) break;
      items.push([item[3]]);
    } else if (!line.trim()) {
      const next = lines[end + 1] ?? "";
      if (!next.trim() || (indent(next) <= pad.length && !ITEM.test(next))) break;
      items.at(-1).push("");
    } else if (indent(line) > pad.length) items.at(-1).push(line.slice(Math.min(indent(line), pad.length + 2)));
    else break;
  }
  const rows = items.map((body) => {
    const task = /^\[([ xX])\]\s+/.exec(body[0]);
    if (task) body[0] = `${task[1] === " " ? "☐" : "☑"} ${body[0].slice(task[0].length)}`;
    const [first, ...rest] = parsed(body, KINDS, depth + 1);
    return h("li", first?.tagName === "P" ? [...first.childNodes] : first, rest);
  });
  return [h(isOrdered ? "ol" : "ul", isOrdered ? { start: parseInt(marker, 10) } : null, rows), end];
}

const cells = (line) => line.trim().replace(/^\||(?<!\\)\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));

function table(lines, at) {
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|")) end += 1;
  const head = h("thead", h("tr", cells(lines[at]).map((cell) => h("th", { scope: "col" }, spans(cell)))));
  const body = lines.slice(at + 2, end).map((line) => h("tr", cells(line).map((cell) => h("td", spans(cell)))));
  return [h("div.wide", { tabindex: "0", role: "region", "aria-label": "Table" }, h("table", head, h("tbody", body))), end];
}

/** Text with `code`, emphasis and links in it; pointing at a link shows its address. */
function spans(text) {
  return text.length > 50_000 ? wrapped(text) : withCode(text, emphasised);
}

function emphasised(text) {
  return text.split(SPAN).map((part, at) => {
    if (at % 2 === 0) return wrapped(part);
    if (part.startsWith("**")) return h("strong", emphasised(part.slice(2, -2)));
    if (part.startsWith("~~")) return h("s", part.slice(2, -2));
    if (part.startsWith("*")) return h("em", part.slice(1, -1));
    const middle = part.indexOf("](");
    const label = part.slice(part.indexOf("[") + 1, middle);
    return h("span.address", { title: part.slice(middle + 2, -1) }, part.startsWith("!") ? `Image: ${label}` : label);
  });
}
