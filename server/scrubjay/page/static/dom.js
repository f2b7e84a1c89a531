// Creates elements. Every text becomes a text node and never markup, because it may come from anywhere.

const SVG = "http://www.w3.org/2000/svg";
// Characters that are invisible or reorder a line; a test compares them with those in `scrubjay.text.foreign`.
const HIDDEN = new RegExp(
  "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e" +
    "\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}" +
    "\\u{e0000}-\\u{e0fff}]",
  "gu",
);
const BREAKS = /\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]/g;

const visible = (text) => String(text).replace(BREAKS, "\n").replace(HIDDEN, "");

function make(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") element[name] = value;
    else if (name === "vars") for (const [property, setting] of Object.entries(value)) element.style.setProperty(property, setting);
    else element.setAttribute(name, value === true ? "" : visible(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : visible(child));
  }
}

/** Create an HTML element: `h("p.note", {id: "x", onclick: f}, "text", h("b"))`; `vars` are custom properties of CSS. */
export function h(name, props, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag || "div");
  if (classes.length) element.className = classes.join(" ");
  if (props instanceof Node || typeof props !== "object" || Array.isArray(props)) {
    return make(element, null, [props, ...children]);
  }
  return make(element, props, children);
}

/** Create an SVG element. */
export function s(tag, props, ...children) {
  return make(document.createElementNS(SVG, tag), props, children);
}

/** Replace the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/** Return a function that calls `work` once no other call has come for so many milliseconds. */
export function debounce(work, milliseconds) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...args), milliseconds);
  };
}

export function button(label, onclick, props = {}) {
  return h(props.plain ? "button.plain" : "button", { type: "button", onclick, ...props, plain: null }, label);
}

/** A switch with its label. */
export function toggle(label, checked, onchange, props = {}) {
  const box = h("input", { type: "checkbox", role: "switch", checked, onchange: () => onchange(box.checked), ...props });
  return h("label.toggle", box, h("span", label));
}

/** A list to choose from; each of the `options` is [value, label]. */
export function choice(label, options, chosen, onchange) {
  const list = h(
    "select",
    { "aria-label": label, onchange: () => onchange(list.value) },
    options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)),
  );
  return list;
}

/** A word on a coloured background. */
export const tag = (text, kind = "") => h(`span.tag${kind ? `.${kind}` : ""}`, text);

/** The text of an empty view: what it means and what to do first. */
export const empty = (title, ...more) => h("div.empty", h("h2", title), more.map((each) => h("p", each)));
