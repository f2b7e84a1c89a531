// Documents by folder with their status, and a single document.

import { button, debounce, empty, fill, h, tag, toggle } from "./dom.js";
import { call, news, send } from "./engine.js";
import { forgetAll, purgeAll, restoreAll } from "./facts.js";
import { address, attempt, currentScope, say } from "./frame.js";
import { blocks, prose } from "./markdown.js";
import { bytes, date, inProject, moment, number, plural, project } from "./words.js";

const SHOWN = 200; // documents to show of one folder
const LARGEST = 50_000_000; // bytes of a file; the engine accepts no larger one
const MARKDOWN = new Set(["markdown", "html", "docx", "odt", "doc", "rtf", "notebook"]); // types whose text is Markdown
const WORKING = new Set(["queued", "extracting", "chunking", "embedding"]);

export const show = (container, route, signal) => (route.view === "document" ? showOne(container, route, signal) : showAll(container, signal));

async function showAll(container, signal) {
  const list = h("div.documents");
  const uploads = h("div.uploads", { "aria-live": "polite" });
  const work = h("div.work");
  let timer = 0;
  signal.addEventListener("abort", () => clearTimeout(timer));

  async function draw() {
    clearTimeout(timer);
    const { results } = await call("documents", { scope: currentScope() }, signal);
    fill(list, results.length ? folders(results, draw) : nothing());
    if (results.some((document) => WORKING.has(document.status))) timer = setTimeout(() => draw().catch(() => {}), 1_500);
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
        const added = await send(file, currentScope(), (share) => (bar.value = share));
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
  }, h("span", `Drop files here to add them ${currentScope() ? `to ${project(currentScope())}` : "for every project"}, or `), button("choose some", () => picker.click()), picker);
  const reindex = button("Rebuild the index", () => attempt(async () => {
    reindex.disabled = true;
    const bar = h("progress", { "aria-label": "Building the index" });
    const what = h("span.faint", "Searches use the old index meanwhile.");
    fill(work, h("p.row", bar, what));
    const onProgress = ({ detail }) => ((bar.max = Math.max(detail.total, 1)), (bar.value = detail.done), (what.textContent = `${detail.what} ${number(detail.done)} of ${number(detail.total)}; searches use the old index meanwhile`));
    news.addEventListener("progress", onProgress);
    try {
      const { passages } = await call("reindex");
      say(`${plural(passages, "passage")} indexed.`);
    } finally {
      news.removeEventListener("progress", onProgress);
      reindex.disabled = false;
      fill(work);
    }
  }), { plain: true });
  fill(container, h("div.top", h("h1", "Documents"), h("div.row", reindex)), drop, uploads, work, list);
  await draw();
  const redraw = debounce(() => attempt(draw), 500);
  news.addEventListener("record", ({ detail }) => detail.kind === "document" && redraw(), { signal });
}

const nothing = () => empty("No documents yet", "Drop a file above, or add a whole folder in a terminal:", h("code", "scrubjay index FOLDER"));

/** The documents that could not be read, then the others by project and folder. */
function folders(documents, draw) {
  const failed = documents.filter((each) => each.status === "failed");
  const folderOf = (each) => each.path?.slice(0, each.path.lastIndexOf("/") || 1) ?? "";
  const groups = Map.groupBy(documents.filter((each) => each.status !== "failed"), (each) => `${each.scope}\n${folderOf(each)}`);
  return [failed.length ? group("Not read", failed.length, failed) : null, [...groups].sort(([one], [other]) => (one < other ? -1 : 1)).map(([key, rows]) => {
    const [scope, folder] = key.split("\n");
    const name = folder ? inProject(`${folder}/`, scope).replace(/\/$/, "") : "Added by hand";
    const readAgain = folder && button("Read again", () => read(folder, scope, draw), { plain: true, "aria-label": `Read again: ${folder}` });
    return group([currentScope() ? null : `${project(scope)} / `, name === folder ? folder : name || "."], rows.length, rows, readAgain, folder);
  })];
}

function group(title, count, rows, more = null, folder = null) {
  const hidden = count - SHOWN;
  return h("section.group", h("h2", { dir: "auto", title: folder }, title, h("small", plural(count, "document"), " ", more)),
    rows.slice(0, SHOWN).map(row), hidden > 0 ? h("p.faint", `and ${number(hidden)} more; use search to find them`) : null);
}

function row(each) {
  const file = each.path?.slice(each.path.lastIndexOf("/") + 1) ?? "";
  const name = each.title ?? (file || each.id || "");
  const isFailed = each.status === "failed";
  const head = each.id ? h("a", { href: address("document", [each.id]), dir: "auto" }, name) : h("span", { dir: "auto" }, name);
  return h("div.item.document", head, h("span.faint.path", { dir: "auto" }, isFailed ? `${project(each.scope)} / ${inProject(each.path ?? "", each.scope)}` : file === name ? "" : file),
    h("div.meta", WORKING.has(each.status) ? tag(each.status, "busy") : null,
      h("span.faint", [isFailed ? null : each.type, each.chunks ? plural(each.chunks, "passage") : null, each.updated_at ? date(each.updated_at) : null].filter(Boolean).join(" · "))),
    each.error ? h("span.warn.error", reason(each)) : null);
}

const reason = (each) => each.error.replace(`'${each.path}' is`, "It is");

const read = (path, scope, done) => attempt(async () => {
  const result = await call("index", { path, scope });
  const counts = ["added", "changed", "renamed", "removed", "unchanged"].filter((name) => result[name]).map((name) => `${number(result[name])} ${name}`);
  say(`Read again: ${counts.join(", ") || "nothing there"}. ${(result.failed ?? []).slice(0, 4).map((each) => each.reason).join(" ")}`);
  await done();
});

async function showOne(container, route, signal) {
  const [id] = route.parts;
  const draw = async () => {
    const detail = await call("record", { id }, signal);
    const { record } = detail;
    const back = () => (location.hash = address("documents"));
    const summary = record.summary?.split("\n").filter((line, at) => at || line !== record.title).join("\n");
    let content = record.content;
    let rich = MARKDOWN.has(record.type);
    const text = h("div.text");
    const showText = () => fill(text, rich ? h("div.prose.document-text", { dir: "auto", "aria-label": "Its text", role: "region" }, blocks(content)) : h("pre.text", { tabindex: "0", dir: "auto", "aria-label": "Its text", role: "region" }, content));
    const more = h("div.row");
    const showButtons = () => fill(more, content.length < detail.length && button(`Show more; ${number(detail.length - content.length)} characters are left`, () => attempt(async () => {
      content += (await call("record", { id, start: content.length })).record.content;
      showText();
      showButtons();
    })));
    showText();
    showButtons();
    fill(container, h("div.top", h("div", h("h1", { dir: "auto" }, record.title ?? "A document"), h("p.faint", { dir: "auto" }, [project(record.scope), inProject(record.path ?? record.filepath ?? "", record.scope), record.error ? null : record.type, record.chunk_count ? plural(record.chunk_count, "passage") : null, moment(record.updated_at)].filter(Boolean).join(" · "))),
      h("div.row", record.path && !record.forgotten_at ? button("Read again", () => read(record.path, record.scope, draw)) : null,
        record.forgotten_at ? button("Restore", () => restoreAll([record.id], draw, "document")) : button("Forget …", () => forgetAll([record.id], draw, "document")),
        button("Delete permanently …", () => purgeAll([record.id], back, "document")))),
    record.forgotten_at ? h("p.warn", `Forgotten on ${moment(record.forgotten_at)}${record.forget_reason ? `: ${record.forget_reason}` : ""}.`) : null,
    record.error ? h("p.warn", reason(record)) : null,
    detail.waiting_for_vector ? h("p.faint", `${number(detail.waiting_for_vector)} of ${plural(detail.passages, "passage")} ${detail.waiting_for_vector === 1 ? "has" : "have"} no vector yet.`) : null,
    summary ? h("section.card", h("h2", "Summary"), prose(summary, { folded: false })) : null,
    h("div.row", rich ? toggle("As written", false, (on) => ((rich = !on), showText())) : null,
      record.chunk_count ? toggle("As the passages that searches return", false, (on) => attempt(() => (on ? chunks() : draw()))) : null),
    content ? text : null, more);
    async function chunks() {
      const shown = h("div.chunks");
      const rest = h("div.row");
      const next = async () => {
        const { results } = await call("chunks", { id, start: shown.childElementCount }, signal);
        shown.append(...results.map((each) => h("section.card", h("small", `lines ${each.lines[0] ?? "?"} to ${each.lines[1] ?? "?"}`), h("pre.text", { tabindex: "0", dir: "auto", "aria-label": "A passage" }, each.text))));
        fill(rest, shown.childElementCount < record.chunk_count && results.length > 0 && button("Show more passages", () => attempt(next)));
      };
      await next();
      text.replaceWith(shown);
      more.replaceWith(rest);
    }
  };
  await draw();
}
