"""Events and transcripts made to harm the hook that reads them, from a seed."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

CANARY = "kestrel-canary"  # in every text: it belongs in the spool alone, and in no log
SAID = f"Which owls? {CANARY}"
FIELDS = (
    *("session_id", "prompt_id", "cwd", "hook_event_name", "transcript_path", "prompt", "source", "reason"),
    *("last_assistant_message", "agent_id", "turn_id", "conversation_id", "generation_id", "workspace_roots"),
    *("prompt_response", "sessionId", "prompt_text", "text", "agent_action_name", "execution_id", "model"),
    *("submitted_prompt", "stop_hook_active", "tool_info", "timestamp", "trigger", "project_dir"),
)
NAMES = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
TAGS = tuple(
    "<system-reminder> <scrubjay-memory> <hook_context> <private> <command-name> <bash-input>".split()
)


class Payload(NamedTuple):
    """The stdin of a hook; `name` says what is wrong with it."""

    name: str
    event: str
    data: bytes


def payloads(seed: int, count: int, places: list[str]) -> Iterator[Payload]:
    """`count` events: each shape of broken JSON once, then sound ones with one to three hostile fields.

    `places` are paths of hostile files, which transcripts and folders are said to be.
    """
    chance = random.Random(seed)
    made = 0
    for name, data in _no_json():
        yield Payload(name, NAMES[made % 4], data)
        made += 1
    for place in places:
        for event in NAMES:
            yield Payload(f"transcript {place}", event, _event(event, {"transcript_path": place}, chance))
            made += 1
    while made < count:
        event = chance.choice(NAMES)
        fields = {
            chance.choice(FIELDS): chance.randrange(len(_values(chance, places)))
            for _ in range(chance.randint(1, 3))
        }
        values = _values(chance, places)
        changed = {name: values[at][1] for name, at in fields.items()}
        name = ", ".join(f"{name}: {values[at][0]}" for name, at in fields.items())
        yield Payload(name, event, _event(event, changed, chance))
        made += 1


def _event(event: str, changed: dict[str, Any], chance: random.Random) -> bytes:
    sound = {
        "session_id": f"s{chance.randrange(20)}",
        "prompt_id": f"p{chance.randrange(50)}",
        "hook_event_name": event,
        "cwd": "/",
        "source": "startup",
        "prompt": SAID,
        "last_assistant_message": f"Barn owls. {CANARY}",
        "workspace_roots": ["/"],
        **changed,
    }
    text = _json({name: value for name, value in sound.items() if value is not _ABSENT})
    return text.encode("utf-8", "surrogatepass")


class _Raw:
    """JSON that `json` would not write."""

    def __init__(self, text: str) -> None:
        self.text = text


_ABSENT = object()


def _json(value: dict[str, Any]) -> str:
    parts = (
        f"{json.dumps(name)}: {each.text if isinstance(each, _Raw) else json.dumps(each)}"
        for name, each in value.items()
    )
    return "{" + ", ".join(parts) + "}"


def _values(chance: random.Random, places: list[str]) -> list[tuple[str, Any]]:
    """Invalid values of a field, with their names; long ones of up to 2 MB."""
    long = 10 ** chance.randint(4, 6)
    tag = chance.choice(TAGS)
    return [
        ("absent", _ABSENT),
        ("null", None),
        ("a number", -1),
        ("a huge number", _Raw("1" + "0" * long)),
        ("a huge float", _Raw("1e999999")),
        ("not a number", _Raw("NaN")),
        ("blanks", " \r\n\t\u00a0"),
        ("a lone surrogate", _Raw('"owl \\ud83d"')),
        ("a nul", f"owl\x00{CANARY}"),
        ("control letters", "".join(map(chr, range(1, 32))) + "\x1b[2J\x9b\u202e\u2028"),
        ("carriage returns", "owl\r\n" * (long // 5)),
        ("an object", {"prompt": SAID, "text": {"text": SAID}}),
        ("deep lists", _Raw("[" * 5_000 + "]" * 5_000)),
        ("very deep objects", _Raw('{"a":' * 60_000 + "1" + "}" * 60_000)),
        ("unclosed tags", tag * (long // len(tag))),
        ("nested tags", f"{tag}</" * (long // len(tag))),
        ("secrets without end", "password=" * (long // 9)),
        ("a key without end", "-----BEGIN PRIVATE KEY-----\n" + "A" * long),
        ("two megabytes", f"{CANARY} " * (2_000_000 // 15)),
        ("code as a name", "../../../../etc/passwd"),
        ("a path with a nul", "/tmp/\x00"),
        *((f"the path {place}", place) for place in places),
    ]


def _no_json() -> list[tuple[str, bytes]]:
    sound = json.dumps({"session_id": "s1", "hook_event_name": "Stop", "prompt": SAID}).encode()
    return [
        ("nothing", b""),
        ("a blank", b"\n"),
        ("no JSON", SAID.encode()),
        ("a list", json.dumps([SAID] * 10).encode()),
        ("a number", b"7" * 1_000_000),
        ("cut off", sound[:-9]),
        ("with a byte order mark", b"\xef\xbb\xbf" + sound),
        ("UTF-16", sound.decode().encode("utf-16")),
        ("broken UTF-8", sound.replace(b"owls", b"\xff\xfe\x80")),
        ("a name twice", sound[:-1] + b', "prompt": 7, "session_id": []}'),
        ("open objects", b'{"a":' * 500_000),
        ("blanks without end", b" " * 9_000_000),
        ("bytes", bytes(range(256)) * 4_000),
        ("8 MB of text", sound.replace(b"owls", b"owl " * 2_000_000)),
        ("8 MB of tags", sound.replace(b"owls", TAGS[0].encode() * 450_000)),
    ]


def hostile_places(folder: Path) -> list[str]:
    """Paths of things that are not transcripts: devices, pipes, cycles, folders, others' files, and hostile
    lines.
    """
    folder.mkdir()
    plain = folder / "plain.jsonl"
    plain.write_text(_line("user", SAID) + _line("assistant", [{"type": "text", "text": CANARY}]))
    os.mkfifo(folder / "fifo")
    (folder / "circle").symlink_to(folder / "circle")
    (folder / "one").symlink_to(folder / "two")
    (folder / "two").symlink_to(folder / "one")
    (folder / "zero").symlink_to("/dev/zero")
    locked = folder / "locked.jsonl"
    locked.write_text(_line("user", SAID))
    locked.chmod(0)
    if os.geteuid() == 0:
        os.chown(locked, 12_345, 12_345)
    files = [plain, locked, *(folder / name for name in ("fifo", "circle", "one", "zero", "absent.jsonl"))]
    for number, data in enumerate(_transcripts()):
        files.append(folder / f"lines{number}.jsonl")
        files[-1].write_bytes(data)
    more = ["/dev/zero", "/dev/stdin", "/dev/tty", "/proc/self/mem", "/proc/kmsg", "/", "", "~"]
    return [*map(str, files), str(folder), *more]


def _line(kind: str, content: Any, **more: Any) -> str:
    return json.dumps({"type": kind, "message": {"content": content}, **more}) + "\n"


def _transcripts() -> Iterator[bytes]:
    """Transcripts of up to 9 MB, each wrong in a way of its own."""
    for tag in TAGS:
        yield _line("user", tag * 60_000).encode() * 4
    yield _line("user", SAID, uuid="a", parentUuid="a").encode() * 2_000  # its own parent
    circle = (_line("user", SAID, uuid=f"u{n}", parentUuid=f"u{(n + 1) % 5_000}") for n in range(5_000))
    yield "".join(circle).encode()
    values = (1, None, [], "x", {"type": []}, {"message": 7})
    yield b"".join(json.dumps(value).encode() + b"\n" for value in values) * 5_000
    yield b'{"type": "user", "message": {"content": ' + b"[" * 100_000 + b"\n"
    yield b'{"type": "user", "n": ' + b"7" * 4_000_000 + b"}\n"
    yield b"\n" * 4_000_000
    yield b"\x00" * 9_000_000
    yield _line("assistant", [{"type": "text", "text": "a"}] * 50_000).encode()
    tool = {"type": "tool_use", "name": "Bash", "input": {"command": "x" * 500_000}}
    yield _line("assistant", [tool]).encode() * 8
    yield "".join(_line(kind, "owl" * 50) for _ in range(8_000) for kind in ("user", "assistant")).encode()
    yield _line("user", [{"type": 7, "text": {}}, {"text": SAID}, None, 3]).encode() * 1_000
    yield _line("user", SAID, timestamp=10**300, uuid=[]).encode()
    yield b'{"type": "user", "message": {"content": "half \\ud83d"}}\n' * 100
