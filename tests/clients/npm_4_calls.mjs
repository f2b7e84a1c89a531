// One of each call of supermemory's npm client 4.25.4, for `recording.py`; prints their names.

import Supermemory from "supermemory";

const client = new Supermemory({ maxRetries: 0 });
const AND = [{ key: "n", value: "1", filterType: "numeric", numericOperator: ">", negate: false }];
const file = new File(["The heron waits."], "heron.txt", { type: "text/plain" });
const calls = {
  "add": () => client.add({ content: "The heron waits.", containerTag: "a", customId: "heron", metadata: { n: 2 } }),
  "documents.add": () => client.documents.add({ content: "The heron waits.", containerTags: ["a"], taskType: "memory" }),
  "documents.batchAdd": () => client.documents.batchAdd({ documents: [{ content: "One.", customId: "one" }], containerTag: "a" }),
  "documents.uploadFile": () => client.documents.uploadFile({ file, containerTags: '["a"]', metadata: '{"n": 2}', mimeType: "text/plain" }),
  "documents.get": () => client.documents.get("DOCUMENT"),
  "documents.update": () => client.documents.update("DOCUMENT", { content: "The heron flew.", metadata: { n: 3 } }),
  "documents.list": () => client.documents.list({ containerTags: ["a"], filters: { AND }, limit: "5", page: 1, includeContent: true }),
  "documents.listProcessing": () => client.documents.listProcessing(),
  "search": () => client.search({ q: "heron", containerTag: "a", threshold: 0.1 }),
  "search.documents": () => client.search.documents({ q: "heron", containerTags: ["a"], filters: { AND }, includeSummary: true }),
  "search.execute": () => client.search.execute({ q: "heron" }),
  "search.memories": () => client.search.memories({ q: "heron", containerTag: "a", searchMode: "hybrid", include: { documents: true } }),
  "profile": () => client.profile({ containerTag: "a", q: "heron" }),
  "memories.updateMemory": () => client.memories.updateMemory({ containerTag: "a", id: "MEMORY", newContent: "The heron flew." }),
  "memories.forget": () => client.memories.forget({ containerTag: "a", id: "MEMORY", reason: "asked to" }),
  "documents.delete": () => client.documents.delete("DOCUMENT"),
  "documents.deleteBulk": () => client.documents.deleteBulk({ ids: ["DOCUMENT", "nothing-like-it"] }),
  "settings.get": () => client.settings.get(),
  "connections.list": () => client.connections.list({}),
};
for (const call of Object.values(calls)) await call().catch(() => null); // what it makes of `{}` is of no interest
console.log(JSON.stringify(Object.keys(calls)));
