// Stories of supermemory's npm client 4.25.4: what its README does, then each of its calls that is not of a hosted service.
// A story is a function whose name starts with `it_`; it has a tag of its own. Prints {story: null or what went wrong} as one line of JSON.

import assert from "node:assert/strict";
import { Readable } from "node:stream";
import Supermemory, { toFile } from "supermemory";

const PATIENCE = 30_000; // milliseconds; the bound of every wait
const client = new Supermemory(); // the environment says where and with what key

async function until(look, what) {
  for (const end = Date.now() + PATIENCE; Date.now() < end; await new Promise((wake) => setTimeout(wake, 20))) {
    const seen = await look();
    if (seen) return seen;
  }
  throw new Error(`never: ${what}`);
}

const done = (id) =>
  until(async () => {
    const seen = await client.documents.get(id);
    return ["done", "failed"].includes(seen.status) && seen;
  }, `${id} is done`);

function has(model, ...names) {
  for (const name of names) assert.ok(model[name] !== undefined, `no ${name} in ${JSON.stringify(model)}`);
  return model;
}

async function refused(type, status, call) {
  const error = await call().then(() => assert.fail("nothing was refused"), (refusal) => refusal);
  assert.ok(error instanceof type && error.constructor === type, String(error));
  assert.equal(error.status, status);
  assert.ok(error.error.error, JSON.stringify(error.error));
}

// -- its README ---------------------------------------------------------------------------------------------------------------

async function it_searches_as_its_readme_does() {
  const response = await client.search({ q: "memories related to python" });
  has(response, "results", "timing", "total");
  assert.ok(Array.isArray(response.results));
}

async function it_adds_as_its_readme_does() {
  has(await client.add({ content: "content" }), "id", "status");
  const raw = await client.add({ content: "content" }).asResponse();
  assert.equal(raw.headers.get("content-type"), "application/json");
  const { data, response } = await client.add({ content: "content" }).withResponse();
  assert.ok(data.id && response.ok);
}

async function it_uploads_every_form_of_a_file() {
  const forms = [
    new File(["The smew dives under ice."], "smew.txt"),
    await toFile(Buffer.from("The scaup dives for mussels."), "scaup.txt"),
    await toFile(new Uint8Array([84, 101, 97, 108, 46]), "teal.txt"),
    await toFile(Readable.from(["The pochard ", "dives by night."]), "pochard.txt"),
  ];
  for (const file of forms) {
    const { id } = has(await client.documents.uploadFile({ file, containerTag: "npm-forms" }), "id", "status");
    assert.equal((await done(id)).status, "done");
  }
  assert.equal((await client.documents.list({ containerTags: ["npm-forms"] })).pagination.totalItems, forms.length);
}

async function it_asks_undocumented_endpoints() {
  const body = { containerTag: "npm-raw", memories: [{ content: "Bitterns boom at dusk." }] };
  const { memories } = await client.post("/v4/memories", { body });
  assert.equal(memories[0].memory, "Bitterns boom at dusk.");
}

async function it_maps_refusals_to_its_own_exceptions() {
  await refused(Supermemory.NotFoundError, 404, () => client.documents.get("nothing-like-it"));
  await refused(Supermemory.NotFoundError, 404, () => client.memories.forget({ containerTag: "nobody", id: "nothing-like-it" }));
  await refused(Supermemory.BadRequestError, 400, () => client.search({ q: "x", aggregate: true, rerank: true }));
  await refused(Supermemory.BadRequestError, 400, () => client.search({ q: "" }));
  await refused(Supermemory.BadRequestError, 400, () => client.add({ content: "x", containerTag: "user" }));
  await client.settings.update({ filterPrompt: "Only birds." });
  assert.equal((await client.settings.get()).filterPrompt, "Only birds.");
  await refused(Supermemory.NotFoundError, 404, () => client.connections.list({}));
}

async function it_finds_the_server_of_this_machine_by_itself() {
  const local = await Supermemory.local(); // probes SUPERMEMORY_LOCAL_URL, and would else start a server of its own
  assert.equal(local.baseURL, process.env.SUPERMEMORY_LOCAL_URL);
  has(await local.search({ q: "anything" }), "results");
}

// -- documents ----------------------------------------------------------------------------------------------------------------

async function it_adds_a_document_that_is_done_and_found() {
  const text = "Herons wait for frogs near the npmweir.";
  const added = await client.add({ content: text, containerTag: "npm-add", customId: "heron", metadata: { bird: "heron", n: 3 } });
  assert.equal(added.status, "queued");
  const again = await client.documents.add({ content: text, containerTag: "npm-add", customId: "heron" });
  assert.equal(again.id, added.id);
  const document = has(await done("heron"), "connectionId", "content", "createdAt", "customId", "filepath", "metadata", "ogImage", "raw", "source", "summary", "taskType", "title", "type", "updatedAt", "containerTags");
  assert.deepEqual([document.id, document.status, document.type, document.content], [added.id, "done", "text", text]);
  const { results } = await client.search({ q: "npmweir", containerTag: "npm-add" });
  assert.equal(results.length, 1);
  assert.equal(results[0].memory, text);
  assert.ok(!("chunk" in results[0]) && results[0].similarity > 0.6);
}

async function it_adds_many_lists_and_deletes_them() {
  const documents = [0, 1, 2].map((n) => ({ content: `Wren ${n} of the hedge.`, customId: `npm-wren-${n}` }));
  const added = has(await client.documents.batchAdd({ documents, containerTag: "npm-many" }), "results", "success", "failed");
  assert.deepEqual([added.success, added.failed], [3, 0]);
  await done(added.results[0].id);
  const listed = await client.documents.list({ containerTags: ["npm-many"], limit: 2, order: "asc", sort: "createdAt", includeContent: true });
  assert.deepEqual(listed.memories.map((row) => row.content), ["Wren 0 of the hedge.", "Wren 1 of the hedge."]);
  has(listed.pagination, "currentPage", "totalItems", "totalPages", "limit");
  has(await client.documents.listProcessing(), "documents", "totalCount");
  const changed = await client.documents.update("npm-wren-0", { content: "Wren 0 left the hedge." });
  assert.equal(changed.id, added.results[0].id);
  assert.equal((await done(changed.id)).content, "Wren 0 left the hedge.");
  assert.equal(await client.documents.delete("npm-wren-0").then((nothing) => nothing ?? null), null);
  const gone = has(await client.documents.deleteBulk({ ids: [added.results[1].id, "nothing-like-it"] }), "success", "errors");
  assert.equal(gone.deletedCount, 1);
  assert.equal((await client.documents.deleteBulk({ containerTags: ["npm-many"] })).deletedCount, 1);
}

// -- searches, memories, profiles ---------------------------------------------------------------------------------------------

async function it_searches_documents_and_memories_with_every_field() {
  const { id } = await client.add({ content: "The osprey takes fish.", containerTag: "npm-search", metadata: { kind: "raptor" } });
  await done(id);
  const filters = { AND: [{ key: "kind", value: "RAPTOR", ignoreCase: true }] };
  const asked = { q: "osprey fish", containerTags: ["npm-search"], filters, limit: 3, rerank: true, rewriteQuery: true };
  const wide = { chunkThreshold: 0, documentThreshold: 0, docId: id, includeFullDocs: true, includeSummary: true };
  for (const search of [client.search.documents, client.search.execute]) {
    const [row] = (await search.call(client.search, { ...asked, ...wide, onlyMatchingChunks: true })).results;
    has(row, "documentId", "chunks", "createdAt", "updatedAt", "metadata", "score", "title", "type", "content", "summary");
    has(row.chunks[0], "content", "isRelevant", "position", "score");
  }
  const include = { documents: true, summaries: true, relatedMemories: true, forgottenMemories: true };
  const memories = { q: "osprey fish", containerTag: "npm-search", filters, include, threshold: 0, searchMode: "hybrid" };
  const [fact] = (await client.search.memories(memories)).results;
  has(fact, "id", "memory", "similarity", "metadata", "updatedAt", "version", "context", "documents");
  has(fact.documents[0], "id", "title", "type", "metadata", "createdAt", "updatedAt", "summary");
  has(fact.context, "parents", "children");
}

async function it_updates_and_forgets_memories() {
  await client.add({ content: "John prefers dark mode.", containerTag: "npm-user" });
  const newer = await client.memories.updateMemory({ containerTag: "npm-user", content: "John prefers dark mode.", newContent: "John prefers light mode." });
  has(newer, "id", "createdAt", "forgetAfter", "forgetReason", "memory", "metadata", "parentMemoryId", "rootMemoryId", "version");
  assert.equal(newer.version, 2);
  const profile = await client.profile({ containerTag: "npm-user", q: "which mode?", threshold: 0 });
  assert.deepEqual(profile.profile.dynamic, ["John prefers light mode."]);
  assert.equal(profile.searchResults.results[0].id, newer.id);
  assert.deepEqual(await client.memories.forget({ containerTag: "npm-user", id: newer.id, reason: "asked to" }), { id: newer.id, forgotten: true });
  assert.deepEqual((await client.search({ q: "which mode?", containerTag: "npm-user", threshold: 0 })).results, []);
}

const stories = [
  it_searches_as_its_readme_does,
  it_adds_as_its_readme_does,
  it_uploads_every_form_of_a_file,
  it_asks_undocumented_endpoints,
  it_maps_refusals_to_its_own_exceptions,
  it_finds_the_server_of_this_machine_by_itself,
  it_adds_a_document_that_is_done_and_found,
  it_adds_many_lists_and_deletes_them,
  it_searches_documents_and_memories_with_every_field,
  it_updates_and_forgets_memories,
];
const told = {};
for (const story of stories) {
  told[story.name] = await story().then(() => null, (error) => error.stack);
}
console.log(JSON.stringify(told));
