"""What a hook or the engine does with the text of others takes time in proportion to its length, at its worst too."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from scrubjay.hooks import hosts
from scrubjay.models.envelopes import envelope
from scrubjay.models.requests import DocumentText
from scrubjay.records.documents import _document
from scrubjay.text import host_transcripts
from scrubjay.text.redaction import _LINES, _TOKENS, redact
from scrubjay.text.transcripts import completion, ended_before, fields_of, missing, turns

pytestmark = pytest.mark.long

LENGTH = 200_000  # characters
MOST_RATIO = 8.0  # of the time for LENGTH to that for a quarter of it: 4 if linear, 16 if quadratic
NOISE_S = 0.02
MOST_S = 1.5  # what a hook may take altogether

TAGS = (
    "<system-reminder>",
    "<scrubjay-memory>",
    "<ide_selection>",
    "<ide_opened_file>",
    "<command-name>",
    "<command-args>",
    "<bash-input>",
    "<local-command-stdout>",
)
UNITS = [
    *TAGS,
    "".join(TAGS),
    "</system-reminder>",
    "<system-reminder><scrubjay-memory></system-reminder>",
    "<command-name>a</command-name><command-args>",
    "[Request interrupted by user",
    "/a:",
    "<",
    "a",
    " ",
    "\n",
    "\n ",
    "a\n\n",
    "\n\t\r",
]
BESIDE = [
    "<hook_context>",
    "</hook_context>",
    "<hook_context></hook_context>",
    "<hook_context>a</hook_context> ",
    "<user_query></user_query>",
    "</",
    " >",
]
SECRETS = [
    # ten at a time: rules of tokens have one form, and a slow one among ten still shows
    *("".join(rule.literals[0] for rule in _TOKENS[at : at + 10]) for at in range(0, len(_TOKENS), 10)),
    *(rule.literals[0] for rule in _LINES),
    "<private>",
    "<private a",
    "<private>a</private>",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----" * 700 + "-----END ",
    "://a:",
    "eyJaaaaaaaa.",
    'password="',
    "password: a = ",
    "[redacted:",
]


def entry(kind: str, content: object, **more: object) -> str:
    return json.dumps({"type": kind, "message": {"content": content}, **more})


def asked(text: str) -> None:
    """A whole transcript that consists of this text, wherever a text may stand."""
    lines = [
        entry("user", text),
        entry("user", [{"type": "tool_result", "content": text}, {"type": "text", "text": text}]),
        entry("user", f"<command-name>{text}"),
        entry("assistant", [{"type": "text", "text": text}]),
        entry("assistant", [{"type": "tool_use", "name": "Bash", "input": {"command": text}}]),
        json.dumps({"type": "attachment", "attachment": {"type": "queued_command", "prompt": text}}),
        entry("user", "the last"),
        text,
    ]
    found = turns(lines)
    missing(found, [("p1", text), (None, f"{text}\n\nx")])
    completion(found, None, text, text)
    ended_before(found, [text, f"x{text}", "the last"], str)
    for turn in found:
        fields_of(turn, str)


def submitted(text: str) -> None:
    payload = {"session_id": "s1", "prompt": text, "last_assistant_message": text, "prompt_response": text}
    for host in ("claude-code", "gemini-cli", "windsurf"):
        hosts.read(host, payload, {}, "/")


def told(text: str) -> None:
    """A transcript of each other host that consists of this text."""
    half = text[: len(text) // 2]
    lines = {
        "codex": [{"type": "response_item", "payload": {"role": "user", "content": [{"text": text}]}}],
        "copilot-cli": [{"type": "user.message", "data": {"content": text}}],
        "gemini-cli": [{"id": "m1", "type": "user", "content": [{"text": half}, {"text": half}]}],
        "qwen-code": [{"type": "user", "message": {"parts": [{"text": half}, {"text": half}]}}],
        "cursor": [{"role": role, "content": text} for role in ("user", "assistant")],
    }
    for host, entries in lines.items():
        host_transcripts.turns([json.dumps(entry) for entry in entries], host)


def seconds(work: Callable[[str], object], text: str, times: int = 2) -> float:
    """The least processor time of several runs."""
    taken = []
    for _ in range(times):
        started = time.process_time()
        work(text)
        taken.append(time.process_time() - started)
    return min(taken)


@pytest.mark.parametrize(
    ("work", "unit"),
    [(asked, unit) for unit in UNITS]
    + [(submitted, unit) for unit in (*TAGS, "<hook_context></hook_context>")]
    + [(told, unit) for unit in BESIDE]
    + [(redact, unit) for unit in SECRETS],
    ids=lambda part: part.__name__ if callable(part) else repr(part[:30]),
)
def test_a_text_of_four_times_the_length_takes_four_times_as_long(
    work: Callable[[str], object], unit: str
) -> None:
    text = (unit * (LENGTH // len(unit) + 1))[:LENGTH]
    short, long = seconds(work, text[: LENGTH // 4]), seconds(work, text)
    assert long < MOST_RATIO * short + NOISE_S
    assert long < MOST_S


def test_one_long_line_becomes_chunks_in_linear_time() -> None:
    now = datetime(2026, 3, 5, tzinfo=UTC)

    def cut(text: str) -> None:
        request = DocumentText(content=text, type="text")
        asked = envelope("document", request, scope="s", source="test", at=now)
        assert len(_document(request, asked, "doc_1", None, now)[1]) > 50

    text = "owls " * (LENGTH // 5 * 4)
    assert seconds(cut, text) < MOST_RATIO * seconds(cut, text[: len(text) // 4]) + NOISE_S


def test_a_number_without_end_is_read_at_once() -> None:
    line = f'{{"type": "user", "n": {"7" * LENGTH}, "message": {{"content": "hello"}}}}'
    started = time.process_time()
    (turn,) = turns([line])
    assert time.process_time() - started < 0.5
    assert turn["prompts"] == ["hello"]
