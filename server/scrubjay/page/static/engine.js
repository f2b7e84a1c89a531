// Calls the engine, and receives its events.

import { first } from "./first.js";
import { ownNames } from "./words.js";

class Refusal extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

export const GONE = "The engine does not answer. Run `scrubjay open` in a terminal to start it again.";

async function parsed(response) {
  const names = response.headers.get("x-project-names");
  for (const [scope, name] of names ? Object.entries(JSON.parse(decodeURIComponent(names))) : []) ownNames.set(scope, name);
  const answer = response.headers.get("content-type")?.includes("json") ? await response.json() : null;
  if (response.ok) return answer;
  if (response.status === 401) dispatchEvent(new CustomEvent("locked"));
  throw new Refusal(response.status, answer?.error ?? `The engine answered ${response.status}.`);
}

async function answerOf(request) {
  let response;
  try {
    response = await request;
  } catch (error) {
    throw error.name === "AbortError" ? error : new Refusal(0, GONE);
  }
  return parsed(response);
}

const withoutEmpty = (params) => Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== ""));
const post = (path, values, signal) => answerOf(fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(values), signal }));

let early = first && { key: first.key, answer: answerOf(first.response) };
/** The exchange of the link's key, whose answer is that of the first call; null for a page without a key. */
export const entering = first?.hasKey ? early.answer : null;

/** Make one of the calls of `scrubjay.page.calls`; `signal` may cancel it. */
export async function call(name, params = {}, signal = undefined) {
  const values = withoutEmpty(params);
  if (early?.key === JSON.stringify([name, values])) {
    const { answer } = early;
    early = null;
    return answer;
  }
  await entering?.catch(() => {}); // without its cookie, the call would be refused
  return post(`call/${name}`, values, signal);
}

/** Send a file; `onprogress` is called with the share that has been sent, from 0 to 1. */
export function send(file, scope, onprogress) {
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    const query = new URLSearchParams({ name: file.name, ...(scope ? { scope } : {}) });
    request.open("POST", `file?${query}`);
    request.upload.onprogress = (event) => event.lengthComputable && onprogress(event.loaded / event.total);
    request.onerror = () => failed(new Refusal(0, GONE));
    request.onload = () => {
      let answer = null;
      try {
        answer = JSON.parse(request.responseText);
      } catch {
        // a refusal by the server itself is not JSON
      }
      if (request.status === 200) done(answer);
      else failed(new Refusal(request.status, answer?.error ?? `The engine answered ${request.status}.`));
    };
    const form = new FormData();
    form.append("file", file);
    request.send(form);
  });
}

/** The engine's events "record", "settings" and "progress"; "state" is the state of the connection. */
export const news = new EventTarget();

export function listen() {
  const source = new EventSource("news");
  const state = (detail) => news.dispatchEvent(new CustomEvent("state", { detail }));
  for (const name of ["record", "settings", "progress"]) {
    source.addEventListener(name, (event) => news.dispatchEvent(new CustomEvent(name, { detail: JSON.parse(event.data) })));
  }
  source.addEventListener("hello", () => state("live"));
  source.addEventListener("end", () => {
    source.close();
    state("ended");
  });
  source.onerror = () => state(source.readyState === EventSource.CLOSED ? "ended" : "waiting");
  return source;
}
