// A map of sessions and facts by meaning.

import { button, empty, fill, h } from "./dom.js";
import { call } from "./engine.js";
import { address, chosen } from "./frame.js";
import { plural, project } from "./words.js";

const NEAR = 14; // pixels from the pointer to the point it selects
const CELLS = 64; // of the grid that finds points, per side
const NAMED = 12; // projects with their own colour

export async function show(place, where, signal) {
  const { scopes, points } = await call("map", {}, signal);
  if (points.length < 3) {
    fill(place, h("div.top", h("h1", "Map")), empty("Nothing to draw yet", "Facts appear here as soon as they have a vector, and sessions once they are summarised, a few minutes after their last turn."));
    return;
  }
  const canvas = h("canvas", { tabindex: "0", role: "application", "aria-label": `A map of ${plural(points.length, "fact or session", "facts and sessions")}. Arrow keys move, plus and minus zoom, Enter opens the point in the middle.` });
  const tip = h("div.maptip", { role: "status", hidden: true });
  const ring = h("i.ring", { hidden: true }); // above the canvas, so that pointing repaints nothing
  const counts = new Map();
  for (const [, scope] of points) counts.set(scope, (counts.get(scope) ?? 0) + 1);
  const order = [...counts].sort((one, other) => other[1] - one[1]).map(([scope]) => scope);
  const hidden = new Set(chosen() ? scopes.map((each, at) => (each === chosen() ? -1 : at)).filter((at) => at >= 0) : []);
  const legend = h("div.legend", order.slice(0, NAMED).map((scope, rank) => {
    const key = h("button.chip", { type: "button", "aria-pressed": String(!hidden.has(scope)), vars: { "--dot": colour(rank) }, onclick: () => {
      if (hidden.has(scope)) hidden.delete(scope);
      else hidden.add(scope);
      key.setAttribute("aria-pressed", String(!hidden.has(scope)));
      draw();
    } }, h("i.dot"), `${project(scopes[scope])} ${counts.get(scope)}`);
    return key;
  }), h("span.faint", "● session  ▪ fact"));
  const rank = new Map(order.map((scope, at) => [scope, at]));
  const [xs, ys] = [2, 3].map((column) => Float32Array.from(points, (point) => point[column]));
  const kinds = Uint8Array.from(points, ([isFact]) => Number(isFact));
  const scopeOf = Uint32Array.from(points, ([, scope]) => scope);
  const tints = Uint8Array.from(points, ([, scope]) => Math.min(rank.get(scope), NAMED));
  const grid = new Map();
  points.forEach(([, , x, y], at) => {
    const cell = Math.min(CELLS - 1, Math.floor(x * CELLS)) + CELLS * Math.min(CELLS - 1, Math.floor(y * CELLS));
    if (!grid.has(cell)) grid.set(cell, []);
    grid.get(cell).push(at);
  });

  let view = { x: 0.5, y: 0.5, zoom: 0.92 };
  let size = { width: 1, height: 1 };
  let over = -1;
  let waiting = false;
  let paints = [];
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  let picture = pen.createImageData(1, 1);
  // distances mean little on this map, so it takes the shape of its window
  const toScreen = (x, y) => [size.width / 2 + (x - view.x) * size.width * view.zoom, size.height / 2 + (y - view.y) * size.height * view.zoom];
  const toMap = (x, y) => [view.x + (x - size.width / 2) / (size.width * view.zoom), view.y + (y - size.height / 2) / (size.height * view.zoom)];

  function draw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      paint();
    });
  }
  /** Draw the points as pixels: as paths, ten thousand take a browser without a graphics card 100 ms. */
  function paint() {
    const { width, height, data } = picture;
    const dots = devicePixelRatio;
    const radius = Math.min(7, Math.max(1.8, 2.4 * Math.sqrt(view.zoom) * Math.min(1.5, 40 / Math.sqrt(points.length)))) * dots;
    const shapes = [shape(radius, false), shape(radius, true)];
    const [originX, originY] = toScreen(0, 0);
    const [farX, farY] = toScreen(1, 1);
    new Uint32Array(data.buffer).fill(new Uint32Array(new Uint8ClampedArray([...paints.at(-1), 255]).buffer)[0]);
    for (let each = 0; each < points.length; each += 1) {
      if (hidden.has(scopeOf[each])) continue;
      const { side, share } = shapes[kinds[each]];
      const firstX = Math.round((originX + xs[each] * (farX - originX)) * dots - side / 2);
      const firstY = Math.round((originY + ys[each] * (farY - originY)) * dots - side / 2);
      if (firstX <= -side || firstY <= -side || firstX >= width || firstY >= height) continue;
      const [red, green, blue] = paints[tints[each]];
      const [fromX, toX] = [Math.max(0, -firstX), Math.min(side, width - firstX)];
      const toY = Math.min(side, height - firstY);
      for (let line = Math.max(0, -firstY); line < toY; line += 1) {
        let at = 4 * ((firstY + line) * width + firstX + fromX);
        for (let place = line * side + fromX; place < line * side + toX; place += 1, at += 4) {
          const covers = share[place];
          data[at] += covers * (red - data[at]);
          data[at + 1] += covers * (green - data[at + 1]);
          data[at + 2] += covers * (blue - data[at + 2]);
        }
      }
    }
    pen.putImageData(picture, 0, 0);
  }
  function recolour() {
    paints = rgb([...[...Array(NAMED)].map((_, at) => resolved(colour(at))), getComputedStyle(canvas).color, getComputedStyle(canvas).backgroundColor]);
    draw();
  }
  // a canvas supports neither variables nor light-dark(), so let the browser compute an element's colour
  function resolved(value) {
    const probe = h("i", { vars: { color: value } });
    canvas.after(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  }
  function measure() {
    const box = canvas.getBoundingClientRect();
    size = { width: box.width, height: box.height };
    canvas.width = Math.round(box.width * devicePixelRatio);
    canvas.height = Math.round(box.height * devicePixelRatio);
    picture = pen.createImageData(Math.max(1, canvas.width), Math.max(1, canvas.height));
    draw();
  }
  function nearest(left, top, reach = NEAR) {
    const [x, y] = toMap(left, top);
    const [wide, tall] = [reach / (size.width * view.zoom), reach / (size.height * view.zoom)];
    let best = -1;
    let least = reach * reach;
    const cell = (value) => Math.min(CELLS - 1, Math.max(0, Math.floor(value * CELLS)));
    for (let column = cell(x - wide); column <= cell(x + wide); column += 1) {
      for (let line = cell(y - tall); line <= cell(y + tall); line += 1) {
        for (const at of grid.get(column + CELLS * line) ?? []) {
          const [, scope, px, py] = points[at];
          const [dx, dy] = toScreen(px, py);
          const distance = (dx - left) ** 2 + (dy - top) ** 2;
          if (distance < least && !hidden.has(scope)) [best, least] = [at, distance];
        }
      }
    }
    return best;
  }
  function point(at, left, top) {
    over = at;
    tip.hidden = ring.hidden = at < 0;
    canvas.classList.toggle("pointing", at >= 0);
    if (at < 0) return;
    const [isFact, scope, x, y, , label] = points[at];
    const [ringLeft, ringTop] = toScreen(x, y);
    ring.style.setProperty("--x", `${ringLeft}px`);
    ring.style.setProperty("--y", `${ringTop}px`);
    fill(tip, h("b", isFact ? "Fact" : "Session"), ` of ${project(scopes[scope])}`, h("p", { dir: "auto" }, label));
    tip.style.setProperty("--x", `${Math.min(left + 14, Math.max(0, size.width - 300))}px`);
    tip.style.setProperty("--y", `${Math.min(top + 14, size.height - 90)}px`);
  }
  function openPoint(at) {
    if (at < 0) return;
    const [isFact, scope, , , id] = points[at];
    location.hash = isFact ? address("facts", [id], { in: chosen() }) : address("session", [scopes[scope], id], { in: chosen() });
  }
  function zoom(factor, left = size.width / 2, top = size.height / 2) {
    const [x, y] = toMap(left, top);
    view.zoom = Math.min(60, Math.max(0.5, view.zoom * factor));
    const [nx, ny] = toMap(left, top);
    view = { ...view, x: view.x + x - nx, y: view.y + y - ny };
    point(-1);
    draw();
  }
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.offsetX, y: event.offsetY, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag && (drag.moved || Math.hypot(event.offsetX - drag.x, event.offsetY - drag.y) > 4)) {
      view.x -= (event.offsetX - drag.x) / (size.width * view.zoom);
      view.y -= (event.offsetY - drag.y) / (size.height * view.zoom);
      drag = { x: event.offsetX, y: event.offsetY, moved: true };
      point(-1);
      draw();
    } else if (!drag) point(nearest(event.offsetX, event.offsetY), event.offsetX, event.offsetY);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) openPoint(nearest(event.offsetX, event.offsetY));
    drag = null;
  });
  canvas.addEventListener("pointerleave", () => point(-1));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * 0.0015), event.offsetX, event.offsetY);
    point(nearest(event.offsetX, event.offsetY), event.offsetX, event.offsetY);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const [wide, tall] = [60 / (size.width * view.zoom), 60 / (size.height * view.zoom)];
    const moves = { ArrowLeft: [-wide, 0], ArrowRight: [wide, 0], ArrowUp: [0, -tall], ArrowDown: [0, tall] };
    if (event.key in moves) view = { ...view, x: view.x + moves[event.key][0], y: view.y + moves[event.key][1] };
    else if (event.key === "+" || event.key === "=") zoom(1.4);
    else if (event.key === "-") zoom(1 / 1.4);
    else if (event.key === "Enter") return openPoint(over);
    else return;
    event.preventDefault();
    point(nearest(size.width / 2, size.height / 2, 80), size.width / 2, size.height / 2);
    draw();
  });
  fill(place, h("div.top", h("h1", "Map"), h("div.row", button("+", () => zoom(1.4), { "aria-label": "Nearer" }), button("−", () => zoom(1 / 1.4), { "aria-label": "Further" }), button("All", () => ((view = { x: 0.5, y: 0.5, zoom: 0.92 }), point(-1), draw())))),
    h("p.faint", `${plural(points.length, "fact or session", "facts and sessions")}, arranged so that similar ones are close together.`), legend, h("div.map", canvas, ring, tip));
  const watch = new ResizeObserver(measure);
  signal.addEventListener("abort", () => watch.disconnect());
  place.addEventListener("shown", () => (watch.observe(canvas), recolour()), { once: true });
  addEventListener("theme", recolour, { signal });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour, { signal });
}

/** Well separated hues, starting with the page's own. */
const colour = (rank) => `light-dark(oklch(0.55 0.13 ${(255 + rank * 137.5) % 360}), oklch(0.74 0.11 ${(255 + rank * 137.5) % 360}))`;

/** The coverage of each pixel by a point, at most 0.78: a square, or a disc, of `radius` pixels. */
function shape(radius, isSquare) {
  const side = 2 * Math.ceil(radius + 0.5);
  const share = new Float32Array(side * side).map((_, at) => {
    const [across, down] = [(at % side) - (side - 1) / 2, Math.floor(at / side) - (side - 1) / 2];
    const beyond = isSquare ? Math.max(Math.abs(across), Math.abs(down)) - radius * 0.8 : Math.hypot(across, down) - radius;
    return 0.78 * Math.min(1, Math.max(0, 0.5 - beyond));
  });
  return { side, share };
}

/** CSS colours as red, green and blue from 0 to 255. */
function rgb(colours) {
  const canvas = document.createElement("canvas");
  canvas.width = colours.length;
  canvas.height = 1;
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  colours.forEach((each, at) => {
    pen.fillStyle = each;
    pen.fillRect(at, 0, 1, 1);
  });
  const { data } = pen.getImageData(0, 0, colours.length, 1);
  return colours.map((_, at) => [...data.slice(4 * at, 4 * at + 3)]);
}
