"""Hooks and engine process foreign text in time proportional to its length, even in the worst case."""

from __future__ import annotations

import json
import re
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest
from patterns import Pattern, attacks, patterns

from scrubjay.histories.tasks import _CALL, _elements
from scrubjay.hooks import hosts
from scrubjay.hosts import json_text
from scrubjay.http_api import gateway
from scrubjay.http_api.supermemory.matches import rewrites
from scrubjay.models.envelopes import envelope
from scrubjay.models.requests import DocumentText
from scrubjay.reading.html import convert_html
from scrubjay.reading.markdown import fence
from scrubjay.records.documents import new_document
from scrubjay.redaction.redact import redact
from scrubjay.redaction.rules import LINES, TOKENS
from scrubjay.search.marking import marked
from scrubjay.search.retrieval.chunks import defines
from scrubjay.text.chunking import chunks
from scrubjay.text.dates import periods
from scrubjay.text.entities import entities, query_ties
from scrubjay.text.paragraphs import paragraphs
from scrubjay.text.titles import opening
from scrubjay.transcripts import formats
from scrubjay.transcripts.matching import ended_before, placed
from scrubjay.transcripts.turn import fields_of

NOW = datetime(2026, 3, 5, tzinfo=UTC)
LENGTH = 100_000  # characters
MOST_RATIO = 8.0  # of the time for LENGTH to that for a quarter of it: 4 if linear, 16 if quadratic
NOISE_S = 0.02
MOST_S_A_CHARACTER = 1e-5  # a quarter of it was measured for the slowest patterns
MOST_S = 4.0  # 0.6 was measured for the slowest on a quiet machine, 1.4 on a busy one

TAGS = tuple(
    (
        "<system-reminder> <scrubjay-memory> <ide_selection> <ide_opened_file> <command-name> <command-args> "
        "<bash-input> <local-command-stdout>"
    ).split()
)
UNITS = [
    *TAGS, "".join(TAGS), "</system-reminder>", "<system-reminder><scrubjay-memory></system-reminder>",
    "<command-name>a</command-name><command-args>", "[Request interrupted by user", "/a:", "<", "a", " ",
    "\n", "\n ", "a\n\n", "\n\t\r",
]  # fmt: skip
BESIDE = [
    "<hook_context>", "</hook_context>", "<hook_context></hook_context>", "<hook_context>a</hook_context> ",
    "<user_query></user_query>", "</", " >",
]  # fmt: skip
SECRETS = [
    # ten at a time: rules of tokens have one form, and a slow one among ten still shows
    *("".join(rule.literals[0] for rule in TOKENS[at : at + 10]) for at in range(0, len(TOKENS), 10)),
    *(rule.literals[0] for rule in LINES),
    "<private>",
    "<private a",
    "<private>a</private>",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----" * 700 + "-----END ",
    "://a:",
    "eyJaaaaaaaa.",
    'password="',
    *("password: a = ", "[redacted:", 'password\\"', "bearer ", "word ", "a", "=", " "),
]


def entry(kind: str, content: object, **more: object) -> str:
    return json.dumps({"type": kind, "message": {"content": content}, **more})


def asked(text: str) -> None:
    """A whole transcript that consists of this text, everywhere a text may be."""
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
    found = formats.turns(lines, "claude-code")
    placed(found, [("p1", text, None), (None, f"{text}\n\nx", None)])
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
        formats.turns([json.dumps(entry) for entry in entries], host)


def seconds(work: Callable[[str], object], text: str, times: int = 2) -> float:
    """The least processor time of several runs."""
    taken = []
    for _ in range(times):
        started = time.process_time()
        work(text)
        taken.append(time.process_time() - started)
    return min(taken)


@pytest.mark.long
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


@pytest.mark.long
def test_one_long_line_becomes_chunks_in_linear_time() -> None:
    now = datetime(2026, 3, 5, tzinfo=UTC)

    def cut(text: str) -> None:
        request = DocumentText(content=text, type="text")
        asked = envelope("document", request, scope="s", source="test", at=now)
        assert len(new_document(request, asked, "doc_1", None, now)[1]) > 50

    text = "owls " * (LENGTH // 5 * 4)
    assert seconds(cut, text) < MOST_RATIO * seconds(cut, text[: len(text) // 4]) + NOISE_S


@pytest.mark.long
def test_a_huge_number_is_read_quickly() -> None:
    line = f'{{"type": "user", "n": {"7" * LENGTH}, "message": {{"content": "hello"}}}}'
    started = time.process_time()
    (turn,) = formats.turns([line], "claude-code")
    assert time.process_time() - started < 0.5
    assert turn["prompts"] == ["hello"]


# Patterns that meet short texts only, by a piece of their source: the length of the longest, in characters.
BOUNDED = {
    r"rollout-.{19}": 255,  # the name of a file
    # a word that may be a path or a name of code
    r"[\w.@+~$()\[\]\\/-]*[\w+)\]-]\.": 120,
    r"(?<![\w./\\-])((?:[A-Za-z_]": 120,
    # a line that may be a heading, or begin or end literal text
    r"(={1,6})[ \t]": 300,
    r"(\*{1,8})[ \t]": 300,
    r"[ \t]*#\+begin_": 300,
    r"[ \t]*\\(part|chapter": 300,
    r"[ \t]*\\begin\{(verbatim": 300,
    r".*<(pre|syntaxhighlight": 300,
    # the text before a word that may be a secret
    r"publi(?:c|sh\w*)": 60,
    r"sig\w*|DNSKEY": 60,
    r"[^\n]*[:=][^\n]*[,;/] \Z": 90,
    r"://\S*/\Z": 100,
    # a name of a variable, the head of a column, a word that may be a password
    r"(?:\w*_)?(?:ID|IDS": 61,
    r"mot de passe|пароль|密码|(?P<vague>": 40,
    r"|[A-Za-z]+[-_]?v?\d+\.\d+[\w.-]*\Z|": 500,
    r".*(?:@[\w-]+\.|": 500,
    r"\w+(?:_|_t|_\w\d\w*|": 500,
}


def time_of(pattern: re.Pattern[Any], method: str, text: str) -> float:
    """The processor time of a method; of one that searches, the time to find all matches."""
    given = text.encode("latin-1", "replace") if isinstance(pattern.pattern, bytes) else text
    started = time.process_time()
    if method in ("match", "fullmatch"):
        getattr(pattern, method)(given)
    else:
        deque(pattern.finditer(given), maxlen=0)
    return time.process_time() - started


def slow(pattern: Pattern, most: int) -> str | None:
    """Return the text on which this pattern takes more than linear time; None if all those tried are linear.

    What takes 0.3 microseconds a character, where most take 0.05, is looked at more closely.
    """
    bound = next((bound for part, bound in BOUNDED.items() if part in str(pattern.compiled.pattern)), None)
    length = bound or 2_000
    methods = {each if each in ("match", "fullmatch") else "search" for each in pattern.methods}
    tried = attacks(pattern.compiled)
    for method, attack in product(sorted(methods), tried):
        once = attack.of_length(44)
        if all(time_of(pattern.compiled, method, once) > NOISE_S for _ in range(3)):
            return f"{pattern.place}: exponential on {attack}"
    step = max(1.0, len(tried) / most)  # an evenly spaced selection
    selected = [attack for at, attack in enumerate(tried) if at % step < 1]
    for method, attack in product(sorted(methods), selected):
        if time_of(pattern.compiled, method, attack.of_length(length)) < length * 3e-7:
            continue
        lengths = (length,) if bound else (length, 4 * length)
        for times in (2, 20):  # a busy machine doubles a time of milliseconds now and then
            taken = [
                min(time_of(pattern.compiled, method, attack.of_length(each)) for _ in range(times))
                for each in lengths
            ]
            if taken[-1] <= lengths[-1] * MOST_S_A_CHARACTER and taken[-1] <= MOST_RATIO * taken[0]:
                break
        else:
            shown = " then ".join(f"{each * 1e3:.1f}" for each in taken)
            return f"{pattern.place}: {shown} ms on {attack}"
    return None


@pytest.mark.long
def test_every_pattern_takes_linear_time_on_texts_made_of_its_own_parts() -> None:
    found = [each for pattern in patterns() if (each := slow(pattern, 60))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("work", "text"),
    [
        (chunks, "a | b\n" + " " * 60_000 + "|x\n"),
        (lambda text: chunks(text, "csv"), "a" + "a\n\n" * 20_000),
        (entities, "-" * 20_000),
        (query_ties, "-" * 9_900),
        (lambda text: periods(text, NOW), "2026-01-01 " * 2_200),
        (redact, "pwd:" * 50_000),
        (redact, f"api_key = '{'A' * 90}'"),
        (redact, f"the key is '{'a' * 90}!'"),
        (redact, f'password="{"Token" * 390}."\n' * 50),
        (lambda text: marked("which port?", text), "_" * 20_000),
        (rewrites, " " * 9_900 + "x"),
        (lambda text: defines(text, frozenset({"Heron"})), "\n" * 20_000 + "Heron"),
        (gateway._HOST.fullmatch, ":" * 20_000 + "!"),
        (lambda text: list(_elements(_CALL, text)), "<read_file>" * 20_000),
        (json_text._without_comments, '"' * 5_000 + '\\"' * 20_000),
        (paragraphs, "    a" + "\n    \x0c" * 40 + "\nx"),
        (opening, " " * 2_000 + "/" + "*" * 2_000),
        (convert_html, "a" + " " * 30_000 + "b"),
        (lambda text: fence(text, "python"), "`" * 100_000),
    ],
    ids=lambda part: None if callable(part) else repr(part[:20]),
)
def test_texts_that_once_took_seconds_are_read_quickly(work: Callable[[str], object], text: str) -> None:
    assert seconds(work, text) < 2.0  # quadratic, they take 10 and more; linear, up to 1.0 on a slow machine


def test_neither_a_huge_heading_nor_metadata_grows_with_the_number_of_chunks() -> None:
    content = "# " + "owl " * 125_000 + "\n\n" + "heron. " * 70_000
    request = DocumentText(
        content=content, type="markdown", metadata={f"n{at}": "a" * 10_000 for at in range(10)}
    )
    asked = envelope("document", request, scope="s", source="test", at=NOW)
    passages = new_document(request, asked, "doc_1", None, NOW)[1]
    assert len(passages) > 1_000
    assert sum(len(each.search_text) for each in passages) < 10 * len(content)
