"""Events and transcripts made to harm the hook that reads them, from a seed, and a process that runs many hooks."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
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
        ("true", True),
        ("a number", -1),
        ("a huge number", _Raw("1" + "0" * long)),
        ("a huge float", _Raw("1e999999")),
        ("not a number", _Raw("NaN")),
        ("an empty text", ""),
        ("blanks", " \r\n\t\u00a0"),
        ("a lone surrogate", _Raw('"owl \\ud83d"')),
        ("raw surrogates", f"owl \ud800{CANARY}"),
        ("a nul", f"owl\x00{CANARY}"),
        ("control letters", "".join(map(chr, range(1, 32))) + "\x1b[2J\x9b\u202e\u2028"),
        ("a byte order mark", "\ufeff" + SAID),
        ("carriage returns", "owl\r\n" * (long // 5)),
        ("a list", [SAID] * 100),
        ("an object", {"prompt": SAID, "text": {"text": SAID}}),
        ("deep lists", _Raw("[" * 5_000 + "]" * 5_000)),
        ("very deep objects", _Raw('{"a":' * 60_000 + "1" + "}" * 60_000)),
        ("many keys", {f"{CANARY}{n}": n for n in range(5_000)}),
        ("unclosed tags", tag * (long // len(tag))),
        ("nested tags", f"{tag}</" * (long // len(tag))),
        ("secrets without end", "password=" * (long // 9)),
        ("a key without end", "-----BEGIN PRIVATE KEY-----\n" + "A" * long),
        ("long words", "a1B" * (long // 3)),
        ("cues", "token " * (long // 6)),
        ("signs", "pass a1!" * (long // 8)),
        ("two megabytes", f"{CANARY} " * (2_000_000 // 15)),
        ("code as a name", "../../../../etc/passwd"),
        ("a long path", "/" + "a" * 5_000),
        ("a path with a nul", "/tmp/\x00"),
        ("a long name", "s" * 100_000),
        *((f"the path {place}", place) for place in places),
    ]


def _no_json() -> list[tuple[str, bytes]]:
    sound = json.dumps({"session_id": "s1", "hook_event_name": "Stop", "prompt": SAID}).encode()
    return [
        ("nothing", b""),
        ("a blank", b"\n"),
        ("no JSON", SAID.encode()),
        ("a text", json.dumps(SAID).encode()),
        ("a list", json.dumps([SAID] * 10).encode()),
        ("a number", b"7" * 1_000_000),
        ("null", b"null"),
        ("cut off", sound[:-9]),
        ("twice", sound + b"\n" + sound),
        ("with a byte order mark", b"\xef\xbb\xbf" + sound),
        ("UTF-16", sound.decode().encode("utf-16")),
        ("Latin-1", sound.replace(b"owls", b"\xf6wls")),
        ("broken UTF-8", sound.replace(b"owls", b"\xff\xfe\x80")),
        ("CRLF", sound.replace(b",", b",\r\n")),
        ("a name twice", sound[:-1] + b', "prompt": 7, "session_id": []}'),
        ("open lists", b"[" * 1_000_000),
        ("open objects", b'{"a":' * 500_000),
        ("blanks without end", b" " * 9_000_000),
        ("bytes", bytes(range(256)) * 4_000),
        ("nuls", b"\x00" * 100_000),
        (
            "8 MB of text",
            json.dumps(
                {"session_id": "s1", "hook_event_name": "Stop", "prompt": "owl " * 2_000_000}
            ).encode(),
        ),
        (
            "8 MB of tags",
            json.dumps({"session_id": "s1", "last_assistant_message": TAGS[0] * 450_000}).encode(),
        ),
        ("8 MB of keys", json.dumps({"session_id": "s1", **{f"k{n}": n for n in range(500_000)}}).encode()),
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
    more = [
        "/dev/zero",
        "/dev/random",
        "/dev/stdin",
        "/dev/tty",
        "/proc/self/mem",
        "/proc/kmsg",
        "/",
        "",
        "~",
    ]
    return [*map(str, files), str(folder), *more]


def _line(kind: str, content: Any, **more: Any) -> str:
    return json.dumps({"type": kind, "message": {"content": content}, **more}) + "\n"


def _transcripts() -> Iterator[bytes]:
    """Transcripts of up to 9 MB, each wrong in a way of its own."""
    for tag in TAGS:
        yield _line("user", tag * 60_000).encode() * 4
    yield _line("user", SAID, uuid="a", parentUuid="a").encode() * 2_000  # its own parent
    yield "".join(
        _line("user", SAID, uuid=f"u{n}", parentUuid=f"u{(n + 1) % 5_000}") for n in range(5_000)
    ).encode()
    yield b"".join(
        json.dumps(value).encode() + b"\n"
        for value in (1, None, [], "x", {"type": []}, {"message": 7}) * 5_000
    )
    yield b'{"type": "user", "message": {"content": ' + b"[" * 100_000 + b"\n"
    yield b'{"type": "user", "n": ' + b"7" * 4_000_000 + b"}\n"
    yield b"\n" * 4_000_000
    yield b"\r" * 1_000_000 + b"{}\n"
    yield b"\x00" * 9_000_000
    yield b"x" * 9_000_000
    yield _line("assistant", [{"type": "text", "text": "a"}] * 50_000).encode()
    yield (
        _line(
            "assistant", [{"type": "tool_use", "name": "Bash", "input": {"command": "x" * 500_000}}]
        ).encode()
        * 8
    )
    yield "".join(_line(kind, "owl" * 50) for _ in range(8_000) for kind in ("user", "assistant")).encode()
    yield _line("user", [{"type": 7, "text": {}}, {"text": SAID}, None, 3]).encode() * 1_000
    yield (
        json.dumps({"type": "user", "timestamp": 10**300, "uuid": [], "message": {"content": SAID}}).encode()
        + b"\n"
    )
    yield b'{"type": "user", "message": {"content": "half \\ud83d"}}\n' * 100


class Ending(NamedTuple):
    """The end of a hook: its exit code, its output, its duration and its processor time."""

    code: int
    out: bytes
    err: bytes
    seconds: float
    processor: float


# Forks itself for each hook, so that one costs 5 ms; what runs there is the hook's own file, from its first line.
_FORKING = """
import json, os, resource, runpy, sys, time
sys.path.insert(0, sys.argv[1])
for line in sys.stdin:
    job = json.loads(line)
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        for target, name, flags in ((0, "stdin", os.O_RDONLY), (1, "out", 577), (2, "err", 577)):
            os.dup2(os.open(job[name], flags, 0o600), target)
        os.environ.clear(); os.environ.update(job["env"]); os.chdir(job["cwd"])
        sys.stdin = open(0, closefd=False)
        sys.argv = job["command"]
        sys.path[0] = os.path.dirname(sys.argv[0])
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
        finally:
            os._exit(70)
    _, status, used = os.wait4(child, 0)
    answer = [os.waitstatus_to_exitcode(status), time.monotonic() - began, used.ru_utime + used.ru_stime]
    print(json.dumps(answer), flush=True)
"""


class Forks:
    """A warm interpreter that runs hook files in its forks, one after another."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()
        command = [sys.executable, "-I", "-S", "-c", _FORKING, str(folder)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, command: list[str], data: bytes, env: dict[str, str], cwd: str) -> Ending:
        """Run `python FILE ARGUMENT...`, given as [FILE, ARGUMENT...]."""
        files = {name: str(self._folder / name) for name in ("stdin", "out", "err")}
        Path(files["stdin"]).write_bytes(data)
        job = json.dumps({"command": command, "env": env, "cwd": cwd, **files})
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(job.encode() + b"\n")
        self._process.stdin.flush()
        code, seconds, processor = json.loads(self._process.stdout.readline())
        out, err = (Path(files[name]).read_bytes() for name in ("out", "err"))
        return Ending(code, out, err, seconds, processor)

    def close(self) -> None:
        """End the interpreter."""
        self._process.communicate()
