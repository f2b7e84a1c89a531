import plugin from "./scrubjay.mjs";
const heard = {};
plugin({ on: (name, handler) => (heard[name] = handler) });
const thread = { id: "T-1" };
const seen = await heard["agent.start"]({ id: 7, message: "Which port does staging use?", thread });
const messages = [
  { role: "user", content: "Which port does staging use?" },
  { role: "assistant", content: [{ type: "text", text: "I look." }, { type: "tool_use" }] },
  { role: "assistant", content: [{ type: "text", text: "Staging listens on port 5433." }] },
];
await heard["agent.end"]({ id: 7, status: "done", thread, messages });
console.log(JSON.stringify(seen));
