"""A stand-in for the model servers of assistants: it answers every request alike; run as a script.

    python stub_model.py PORT LOG

It speaks Anthropic's Messages, OpenAI's Responses and Chat Completions, and Gemini's generateContent, streamed or
whole. LOG gets each request's body as a line of JSON. Standard library only, because it runs where there is no
network and no installation.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ANSWER = "Staging listens on port 5433, and production on 5432."
MODEL = "stub-model"
# By format: the whole answer, and the events of a stream.
ANSWERS = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))


def generated(body: dict[str, Any]) -> dict[str, Any]:
    """Gemini's generateContent; its command line also asks for decisions as JSON."""
    wants_json = (body.get("generationConfig") or {}).get("responseMimeType") == "application/json"
    decision = {"reasoning": "stub", "model_choice": "flash", "next_speaker": "user", "complexity_score": 1}
    text = json.dumps(decision | {"complexity_reasoning": "stub"}) if wants_json else ANSWER
    content = {"role": "model", "parts": [{"text": text}]}
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 9, "totalTokenCount": 18}
    whole = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}
    return {"whole": whole, "events": [(None, whole)]}


# What the address of a request ends with -> the answer.
ROUTES = {
    "/messages": "messages",
    "/responses": "responses",
    "/chat/completions": "completions",
    ":generateContent": "generated",
    ":streamGenerateContent": "generated",
}


class Handler(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"
    log_path = ""
    writing = threading.Lock()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing on stderr."""

    def do_HEAD(self) -> None:
        self._whole({})

    def do_GET(self) -> None:
        """Every address exists; a list of models has ours."""
        ids = {"id": MODEL, "object": "model", "type": "model", "display_name": MODEL, "owned_by": "stub"}
        models = [{"name": f"models/{MODEL}", "supportedGenerationMethods": ["generateContent"]}]
        self._whole({"object": "list", "data": [ids], "models": models, "has_more": False})

    def do_POST(self) -> None:
        body = self._body()
        with self.writing, open(self.log_path, "a", encoding="utf-8") as log:
            log.write(json.dumps(body) + "\n")
        path = self.path.partition("?")[0]
        route = next((ROUTES[ending] for ending in ROUTES if path.endswith(ending)), None)
        if route is None:
            self._whole({"input_tokens": 9, "totalTokens": 9})
            return
        answer = generated(body) if route == "generated" else ANSWERS[route]
        if body.get("stream") or ":stream" in path:
            self._stream(answer["events"])
        else:
            self._whole(answer["whole"])

    def _body(self) -> dict[str, Any]:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        else:
            raw = b""
            while size := int(self.rfile.readline().partition(b";")[0], 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        try:
            body = json.loads(raw or b"{}")
        except ValueError:  # compressed: the answer is always the same, so there is no need to read it
            body = {"stream": True}
        return body if isinstance(body, dict) else {}

    def _whole(self, answer: dict[str, Any]) -> None:
        data = b"" if self.command == "HEAD" else json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: Iterable[tuple[str | None, Any]]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for name, data in events:
            head = f"event: {name}\n" if name else ""
            self.wfile.write(
                f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()
            )
        self.close_connection = True


if __name__ == "__main__":
    Handler.log_path = sys.argv[2]
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
