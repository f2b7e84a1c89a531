// Scrubjay in OpenCode and Kilo: passes prompts and answers to `scrubjay-hook`, and shows what it recalls.
// It never waits longer than PATIENCE_MS, needs no package, and its failures never reach the host.
import { spawn, spawnSync } from "node:child_process";

// `scrubjay setup` rewrites these three lines.
const HOST = "opencode";
const COMMAND = ["scrubjay-hook"];
const TOOLS = ""; // after which the hook may say something (inject = edit)

const PATIENCE_MS = 1500; // a request to the model waits no longer for what is recalled
const LAST_MS = 2000; // a process that ends waits no longer until its last answer is handed over
const TITLE = /title generator/i; // how the request for a session's title begins; it needs no memory

const Scrubjay = async ({ directory }) => {
  const talks = new Map(); // session -> { message, texts, context }
  const fresh = new Set(); // sessions that began in this process
  const helpers = new Set(); // sessions of subagents: not what the user said
  const summaries = new Set(); // messages with the model's summary of a session, which answers no prompt
  const unsaid = new Map(); // session -> an answer that no hook has yet

  const payload = (event, sessionID, more) =>
    JSON.stringify({ hook_event_name: event, session_id: sessionID, cwd: directory, ...more });

  // Runs the hook and gives the context that it prints; `handedOver` is called once it has the payload.
  const run = (input, handedOver = () => {}) =>
    new Promise((resolve) => {
      let said = "";
      const finish = () => {
        try {
          resolve(JSON.parse(said).additionalContext ?? "");
        } catch {
          resolve("");
        }
      };
      try {
        const options = { cwd: directory, stdio: ["pipe", "pipe", "ignore"], windowsHide: true };
        const child = spawn(COMMAND[0], [...COMMAND.slice(1), "--host", HOST], options);
        setTimeout(finish, PATIENCE_MS).unref?.();
        child.on("error", finish);
        child.on("close", finish);
        child.stdout.on("data", (chunk) => (said += chunk));
        child.stdin.on("error", finish);
        child.stdin.end(input, handedOver);
      } catch {
        resolve("");
      }
    });

  const answer = (sessionID) => {
    const talk = talks.get(sessionID);
    const more = { prompt_id: talk.message };
    if (talk.texts.length) more.last_assistant_message = talk.texts.join("\n\n");
    return payload("answer", sessionID, more);
  };

  process.on("exit", () => {
    for (const input of unsaid.values()) {
      try {
        const options = { input, cwd: directory, timeout: LAST_MS, stdio: ["pipe", "ignore", "ignore"] };
        spawnSync(COMMAND[0], [...COMMAND.slice(1), "--host", HOST], options);
      } catch {
        return;
      }
    }
  });

  return {
    event: async ({ event }) => {
      const info = event.properties?.info;
      const sessionID = event.properties?.sessionID ?? info?.id;
      if (event.type === "session.created") (info?.parentID ? helpers : fresh).add(sessionID);
      if (event.type === "message.updated" && info?.summary === true) summaries.add(info.id);
      if (event.type === "session.deleted") talks.delete(sessionID);
      if (event.type !== "session.idle" || !unsaid.has(sessionID)) return;
      const input = answer(sessionID); // without a text where the user stopped it
      void run(input, () => unsaid.get(sessionID) === input && unsaid.delete(sessionID));
      unsaid.set(sessionID, input);
    },

    "chat.message": async (input, output) => {
      const { sessionID } = input;
      const said = output.parts.filter((part) => part.type === "text" && !part.synthetic && !part.ignored);
      const prompt = said.map((part) => part.text).join("\n\n");
      if (helpers.has(sessionID) || !prompt.trim()) return;
      const before = talks.get(sessionID);
      const source = fresh.has(sessionID) ? "startup" : "resume";
      const opening = before?.opening ?? run(payload("start", sessionID, { source }));
      const more = { prompt_id: output.message.id, prompt };
      const lines = run(payload("prompt", sessionID, more));
      const context = Promise.all([opening, lines]).then((texts) => texts.filter(Boolean).join("\n\n"));
      talks.set(sessionID, { message: output.message.id, texts: [], opening, context });
      unsaid.set(sessionID, answer(sessionID));
    },

    "experimental.chat.system.transform": async (input, output) => {
      const talk = talks.get(input.sessionID);
      if (!talk || !output.system.length || TITLE.test(output.system[0].slice(0, 400))) return;
      const context = await talk.context;
      // a part of the first text, because some models refuse a second system message
      if (context) output.system[0] = `${output.system[0]}\n\n${context}`;
    },

    "tool.execute.after": async (input, output) => {
      if (!TOOLS.split("|").includes(input.tool) || helpers.has(input.sessionID)) return;
      if (typeof output.output !== "string") return;
      const more = { tool_input: input.args, tool_response: output.output };
      const context = await run(payload("tool", input.sessionID, more));
      if (context) output.output = `${output.output}\n\n${context}`;
    },

    "experimental.text.complete": async (input, output) => {
      const talk = talks.get(input.sessionID);
      if (!talk || summaries.has(input.messageID) || !output.text?.trim()) return;
      talk.texts.push(output.text);
      unsaid.set(input.sessionID, answer(input.sessionID));
    },
  };
};

export default HOST === "kilo" ? { id: "scrubjay", server: Scrubjay } : Scrubjay;
