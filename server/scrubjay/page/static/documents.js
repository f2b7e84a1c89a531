// Documents by folder with their status, and a single document.

import { button, calmly, empty, fill, h, tag, toggle } from "./dom.js";
import { call, news, send } from "./engine.js";
import { forgetAll, purgeAll, restoreAll } from "./facts.js";
import { address, attempt, chosen, say } from "./frame.js";
import { bytes, date, moment, number, plural, project } from "./words.js";

const SHOWN = 200; // documents of one folder
const LARGEST = 50_000_000; // bytes of a file, as the engine takes them
const WORKING = new Set(["queued", "extracting", "chunking", "embedding"]);

export const show = (place, where, signal) => (where.view === "document" ? showOne(place, where, signal) : showAll(place, signal));

async function showAll(place, signal) {
  const list = h("div.documents");
  const uploads = h("div.uploads", { "aria-live": "polite" });
  const work = h("div.work");
  let timer = 0;
  signal.addEventListener("abort", () => clearTimeout(timer));

  async function draw() {
    clearTimeout(timer);
    const { results } = await call("documents", { scope: chosen() }, signal);
    fill(list, results.length ? folders(results, draw) : nothing());
    if (results.some((each) => WORKING.has(each.status))) timer = setTimeout(() => draw().catch(() => {}), 1_500);
  }
  async function add(files) {
    for (const file of files) {
      const bar = h("progress", { max: 1, value: 0, "aria-label": `Sending ${file.name}` });
      const line = h("p.row", h("span", { dir: "auto" }, file.name), h("span.faint", bytes(file.size)), bar);
      uploads.append(line);
      if (file.size > LARGEST) {
        bar.replaceWith(h("span.warn", `It is larger than ${bytes(LARGEST)}. Split it.`));
        continue;
      }
      try {
        const added = await send(file, chosen(), (share) => (bar.value = share));
        bar.replaceWith(h("span.faint", added.changed ? "added" : "already known, nothing changed"));
        setTimeout(() => line.remove(), 6_000);
        await draw();
      } catch (error) {
        bar.replaceWith(h("span.warn", error.message));
      }
    }
  }
  const picker = h("input.unseen", { type: "file", multiple: true, tabindex: "-1", "aria-label": "Files to add", onchange: () => (add([...picker.files]), (picker.value = "")) });
  const drop = h("div.drop", {
    ondragover: (event) => (event.preventDefault(), drop.classList.add("over")),
    ondragleave: () => drop.classList.remove("over"),
    ondrop: (event) => (event.preventDefault(), drop.classList.remove("over"), add([...event.dataTransfer.files])),
  }, h("span", `Drop files here to add them ${chosen() ? `to ${project(chosen())}` : "for every project"}, or `), button("choose some", () => picker.click()), picker);
  const reindex = button("Rebuild the index", () => attempt(async () => {
    reindex.disabled = true;
    const bar = h("progress", { "aria-label": "Building the index" });
    const what = h("span.faint", "Searches use the old index meanwhile.");
    fill(work, h("p.row", bar, what));
    const heard = ({ detail }) => ((bar.max = Math.max(detail.total, 1)), (bar.value = detail.done), (what.textContent = `${detail.what} ${number(detail.done)} of ${number(detail.total)}; searches use the old index meanwhile`));
    news.addEventListener("progress", heard);
    try {
      const { passages } = await call("reindex");
      say(`${plural(passages, "passage")} indexed.`);
    } finally {
      news.removeEventListener("progress", heard);
      reindex.disabled = false;
      fill(work);
    }
  }), { plain: true });
  fill(place, h("div.top", h("h1", "Documents"), h("div.row", reindex)), drop, uploads, work, list);
  await draw();
  const again = calmly(() => attempt(draw), 500);
  news.addEventListener("record", ({ detail }) => detail.kind === "document" && again(), { signal });
}

const nothing = () => empty("No documents yet", "Drop a file above, or add a whole folder in a terminal:", h("code", "scrubjay index FOLDER"));

function folders(documents, draw) {
  const groups = Map.groupBy(documents, (each) => `${each.scope}\n${each.path ? each.path.slice(0, each.path.lastIndexOf("/")) || "/" : ""}`);
  return [...groups].map(([key, rows]) => {
    const [scope, folder] = key.split("\n");
    const again = folder && button("Read again", () => read(folder, scope, draw), { plain: true, "aria-label": `Read again: ${folder}` });
    const hidden = rows.slice(SHOWN);
    return h("section.group", h("h2", { dir: "auto" }, folder || "Added by hand", h("small", chosen() ? null : `${project(scope)}, `, plural(rows.length, "document"), " ", again)),
      rows.slice(0, SHOWN).map(row), hidden.length ? h("p.faint", `and ${number(hidden.length)} more; use search to find them`) : null);
  });
}

function row(each) {
  const file = each.path?.slice(each.path.lastIndexOf("/") + 1) ?? "";
  const name = each.title ?? (file || each.id || "");
  const head = each.id ? h("a", { href: address("document", [each.id], { in: chosen() }), dir: "auto" }, name) : h("span", { dir: "auto" }, name);
  return h("div.item.document", head, h("span.faint.path", { dir: "auto" }, file === name ? "" : file),
    h("div.meta", each.status === "failed" ? tag("not read", "warn") : WORKING.has(each.status) ? tag(each.status, "busy") : null,
      h("span.faint", [each.type, each.chunks ? plural(each.chunks, "chunk") : null, each.updated_at ? date(each.updated_at) : null].filter(Boolean).join(" · "))),
    each.error ? h("span.warn.error", each.error) : null);
}

const read = (path, scope, done) => attempt(async () => {
  const found = await call("index", { path, scope });
  const counts = ["added", "changed", "renamed", "removed", "unchanged"].filter((each) => found[each]).map((each) => `${number(found[each])} ${each}`);
  say(`Read again: ${counts.join(", ") || "nothing there"}.${found.failed?.length ? ` ${found.failed[0].reason}` : ""}`);
  await done();
});

async function showOne(place, where, signal) {
  const [id] = where.parts;
  const draw = async () => {
    const found = await call("record", { id }, signal);
    const { record } = found;
    const back = () => (location.hash = address("documents", [], { in: chosen() }));
    const text = h("pre.text", { tabindex: "0", dir: "auto", "aria-label": "Its text" }, record.content);
    let length = record.content.length;
    const more = h("div.row");
    const buttons = () => fill(more, length < found.length && button(`Show more; ${number(found.length - length)} characters are left`, () => attempt(async () => {
      const next = await call("record", { id, start: length });
      length += next.record.content.length;
      text.append(h("span", next.record.content));
      buttons();
    })));
    buttons();
    fill(place, h("div.top", h("div", h("h1", { dir: "auto" }, record.title ?? "A document"), h("p.faint", { dir: "auto" }, [record.path ?? record.filepath, project(record.scope), record.type, plural(record.chunk_count, "chunk"), moment(record.updated_at)].filter(Boolean).join(" · "))),
      h("div.row", record.path && !record.forgotten_at ? button("Read again", () => read(record.path, record.scope, draw)) : null,
        record.forgotten_at ? button("Restore", () => restoreAll([record.id], draw, "document")) : button("Forget …", () => forgetAll([record.id], draw, "document")),
        button("Delete permanently …", () => purgeAll([record.id], back, "document")))),
    record.forgotten_at ? h("p.warn", `Forgotten on ${moment(record.forgotten_at)}${record.forget_reason ? `: ${record.forget_reason}` : ""}.`) : null,
    record.error ? h("p.warn", record.error) : null,
    found.waiting_for_vector ? h("p.faint", `${number(found.waiting_for_vector)} of ${plural(found.passages, "passage")} have no vector yet.`) : null,
    record.summary ? h("section.card", h("h2", "Summary"), h("p", { dir: "auto" }, record.summary)) : null,
    record.chunk_count ? toggle("As the chunks that searches return", false, (on) => attempt(() => (on ? chunks() : draw()))) : null,
    text, more);
    async function chunks() {
      const shown = h("div.chunks");
      const rest = h("div.row");
      const next = async () => {
        const { results } = await call("chunks", { id, start: shown.childElementCount }, signal);
        shown.append(...results.map((each) => h("section.card", h("small", `lines ${each.lines[0] ?? "?"} to ${each.lines[1] ?? "?"}`), h("pre.text", { tabindex: "0", dir: "auto", "aria-label": "A chunk" }, each.text))));
        fill(rest, shown.childElementCount < record.chunk_count && results.length > 0 && button("Show more chunks", () => attempt(next)));
      };
      await next();
      text.replaceWith(shown);
      more.replaceWith(rest);
    }
  };
  await draw();
}
