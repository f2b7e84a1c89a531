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
from typing import Any

ANSWER = "Staging listens on port 5433, and production on 5432."
MODEL = "stub-model"
Events = list[tuple[str | None, Any]]


def messages(body: dict[str, Any]) -> tuple[dict[str, Any], Events]:
    """Anthropic's Messages: the whole answer, and the events of a stream."""
    usage = {"input_tokens": 9, "output_tokens": 9}
    empty = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "usage": usage,
    }
    block = {"type": "text", "text": ANSWER}
    parts: list[dict[str, Any]] = [
        {"type": "message_start", "message": empty | {"stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": block | {"text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ANSWER}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": usage,
        },
        {"type": "message_stop"},
    ]
    return empty | {"content": [block], "stop_reason": "end_turn"}, [(part["type"], part) for part in parts]


def responses(body: dict[str, Any]) -> tuple[dict[str, Any], Events]:
    """OpenAI's Responses."""
    part = {"type": "output_text", "text": ANSWER, "annotations": []}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    begun = {"id": "resp_1", "object": "response", "created_at": 1, "model": MODEL, "output": []}
    usage = {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    done = begun | {"status": "completed", "output": [item], "usage": usage}
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    parts: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun | {"status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item | {"content": []}},
        {"type": "response.content_part.added", **at, "part": part | {"text": ""}},
        {"type": "response.output_text.delta", **at, "delta": ANSWER},
        {"type": "response.output_text.done", **at, "text": ANSWER},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": done},
    ]
    return done, [(part["type"], part | {"sequence_number": at}) for at, part in enumerate(parts)]


def completions(body: dict[str, Any]) -> tuple[dict[str, Any], Events]:
    """OpenAI's Chat Completions."""
    common = {"id": "chatcmpl-1", "created": 1, "model": MODEL}
    usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    said = {"role": "assistant", "content": ANSWER}
    chunk = common | {"object": "chat.completion.chunk"}
    events: Events = [
        (None, chunk | {"choices": [{"index": 0, "delta": said, "finish_reason": None}]}),
        (None, chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        (None, chunk | {"choices": [], "usage": usage}),
        (None, "[DONE]"),
    ]
    choices = [{"index": 0, "message": said, "finish_reason": "stop"}]
    return common | {"object": "chat.completion", "choices": choices, "usage": usage}, events


def generated(body: dict[str, Any]) -> tuple[dict[str, Any], Events]:
    """Gemini's generateContent; its command line also asks for decisions as JSON."""
    wants_json = (body.get("generationConfig") or {}).get("responseMimeType") == "application/json"
    decision = {"reasoning": "stub", "model_choice": "flash", "next_speaker": "user", "complexity_score": 1}
    text = json.dumps(decision | {"complexity_reasoning": "stub"}) if wants_json else ANSWER
    content = {"role": "model", "parts": [{"text": text}]}
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 9, "totalTokenCount": 18}
    whole = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}
    return whole, [(None, whole)]


ROUTES = {
    "/messages": messages,
    "/responses": responses,
    "/chat/completions": completions,
    ":generateContent": generated,
    ":streamGenerateContent": generated,
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
        whole, events = route(body)
        if body.get("stream") or ":stream" in path:
            self._stream(events)
        else:
            self._whole(whole)

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
