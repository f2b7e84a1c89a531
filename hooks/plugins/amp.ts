// @ts-nocheck
// Scrubjay in Amp (not verified there): hands what was said to `scrubjay-hook`, and shows what that recalls.
// It never waits longer than PATIENCE_MS, needs no package, and its failures never reach the host.
import { spawn } from "node:child_process";

// `scrubjay setup` rewrites these two lines.
const HOST = "amp";
const COMMAND = ["scrubjay-hook"];

const PATIENCE_MS = 1500; // a request to the model waits no longer for what is recalled

export default function (amp) {
  const known = new Set(); // threads that had their opening in this process
  const asked = new Map(); // thread -> the id of the turn that is being answered
  const directory = process.cwd();

  // Runs the hook and gives the context that it prints.
  const run = (event, thread, more) =>
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
        const payload = { hook_event_name: event, session_id: thread, cwd: directory, ...more };
        child.stdin.end(JSON.stringify(payload));
      } catch {
        resolve("");
      }
    });

  const textOf = (content) =>
    typeof content === "string"
      ? content
      : (content ?? []).filter((part) => part?.type === "text").map((part) => part.text).join("\n\n");

  amp.on("agent.start", async (event) => {
    const thread = event?.thread?.id;
    if (!thread || typeof event.message !== "string") return {};
    const id = event.id === undefined ? undefined : String(event.id);
    asked.set(thread, id);
    const prompt = run("prompt", thread, { prompt_id: id, prompt: event.message });
    const opening = known.has(thread) ? "" : run("start", thread, { source: "startup" });
    known.add(thread);
    const content = (await Promise.all([opening, prompt])).filter(Boolean).join("\n\n");
    return content ? { message: { content, display: false } } : {};
  });

  amp.on("agent.end", async (event) => {
    const thread = event?.thread?.id;
    if (!thread || !asked.has(thread)) return;
    const said = (event.messages ?? []).filter((message) => message?.role === "assistant");
    const answer = said.map((message) => textOf(message.content)).filter(Boolean).join("\n\n");
    await run("answer", thread, { prompt_id: asked.get(thread), last_assistant_message: answer });
    asked.delete(thread);
  });
}
