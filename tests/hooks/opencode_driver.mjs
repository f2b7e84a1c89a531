import plugin from "./scrubjay.mjs";
const scrubjay = await (plugin.server ?? plugin)({ directory: process.cwd() });
const session = "ses_1", part = (text, more) => ({ type: "text", text, ...more });
const created = (info) => scrubjay.event({ event: { type: "session.created", properties: { sessionID: info.id, info } } });
await created({ id: session });
await created({ id: "ses_helper", parentID: session });
const say = (sessionID, id, ...parts) =>
  scrubjay["chat.message"]({ sessionID }, { message: { id, role: "user" }, parts });
await say("ses_helper", "msg_9", part("Look for the port."));
await say(session, "msg_1", part("Which port does staging use?"), part("a file", { synthetic: true }));
const asked = async (...system) => {
  await scrubjay["experimental.chat.system.transform"]({ sessionID: session }, { system });
  return system;
};
const seen = [await asked("You are a title generator."), await asked("You are an assistant.")];
for (const tool of ["bash", "read"]) {
  const done = { output: "made" };
  await scrubjay["tool.execute.after"]({ tool, sessionID: session, args: { command: "make gen" } }, done);
  seen.push([done.output]);
}
const updated = (info) => scrubjay.event({ event: { type: "message.updated", properties: { info } } });
await updated({ id: "msg_1", sessionID: session, role: "user", summary: { diffs: [] } });
await updated({ id: "msg_3", sessionID: session, role: "assistant", summary: true });
const said = [["msg_2", "I look."], ["msg_3", "## Goal: the port"], ["msg_4", "Staging listens on port 5433."]];
for (const [messageID, text] of said)
  await scrubjay["experimental.text.complete"]({ sessionID: session, messageID }, { text });
if (process.argv[2] === "idle")
  await scrubjay.event({ event: { type: "session.idle", properties: { sessionID: session } } });
console.log(JSON.stringify(seen));
if (process.argv[2] === "at once") process.exit(0);
