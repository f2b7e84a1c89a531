// A client on the TypeScript SDK: records a turn over stdio, finds it again, and prints what it saw as one line of JSON.
// node remember.mjs COMMAND [ARGUMENTS...]   (the environment is handed on, the working directory is the project)

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "remember", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));

const { tools } = await client.listTools();
const recorded = await client.callTool({
  name: "record_turn",
  arguments: { session_id: "ts", user: "Which port does the heron service use?", assistant: "Port 7412, behind the proxy." },
});
const found = await client.callTool({ name: "search_memories", arguments: { query: "heron port", top_k: 1, options: { include: { structured: true } } } });
const { contents } = await client.readResource({ uri: `scrubjay://turn/${recorded.structuredContent.id}` });
const refused = await client.callTool({ name: "search_memories", arguments: { query: "heron", top_k: 0 } });

const about = { protocol: client.getNegotiatedProtocolVersion(), server: client.getServerVersion() };
console.log(JSON.stringify({ ...about, tools, recorded, found, contents, refused }));
await client.close();
