"""Measures what comes at an error, before an edit and before a command.

    python tests/bench/before.py [--show] [--calls]

`errors.toml` has made-up errors and what made the command pass; each becomes a session in Claude Code's own format,
read as an import reads it, among sessions about other things.

first    the turn that made the command pass stands first
wrong    of the answers that are shown as certain, those that are another turn's
never    of errors that no history has, those that get an answer shown as certain

`calls.toml` has tool calls on the made-up projects, labelled by hand. They go through the hook's own code, with the
file that an engine writes.

silent   of the calls of ordinary sessions, those before which nothing is said
right    of the lines said, those that are labelled for that call; `aimed` calls are there to be answered
found    of the labelled calls, those with a right line

The baseline of a call says the newest record that has the name of its file, or the command's first two words.

The baselines of an error: the turn with most of the query's words, by their rarity; the newest turn that ran the command; and
the search without this knowledge of commands.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import sys
import tomllib
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import projects
from figures import grid, head, header
from kept import SCOPE, Said, embed_all, enveloped, record_all, said_by, temporary

from scrubjay.engine.core import Core
from scrubjay.home.settings import Settings
from scrubjay.hooks import tools
from scrubjay.models.records import Turn
from scrubjay.models.requests import SearchMemories
from scrubjay.models.results import MemoryHits
from scrubjay.text.terms import content_words
from scrubjay.transcripts import formats
from scrubjay.transcripts.turn import fields_of

ERRORS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("errors.toml").read_text("utf-8"))
CALLS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("calls.toml").read_text("utf-8"))
START = datetime(2026, 3, 2, 9, tzinfo=UTC)


def lines_of(session: str, at: datetime, pair: Mapping[str, Any]) -> list[str]:
    """Return the transcript of a pair: the command fails, others run, and it passes, in this turn or the next."""
    said, then = pair["said"], pair.get("then")
    runs = [
        *([(pair["command"], pair["error"])] if pair["error"] else []),
        *((each, None) for each in pair.get("between", ())),
    ]
    if then is None:
        runs.append((pair["command"], None))
    entries = [*_turn(said, runs)]
    if then is not None:
        entries += _turn(then, [(pair["command"], None)])
    return [
        json.dumps(
            {
                "uuid": f"{session}-{number}",
                "parentUuid": f"{session}-{number - 1}" if number else None,
                "sessionId": session,
                "timestamp": (at + timedelta(seconds=20 * number)).isoformat().replace("+00:00", "Z"),
                "type": role,
                "message": {"role": role, "content": content},
            }
        )
        for number, (role, content) in enumerate(entries)
    ]


def _turn(
    said: Sequence[str], runs: Sequence[tuple[str, str | None]]
) -> list[tuple[str, list[dict[str, Any]]]]:
    entries = [("user", [{"type": "text", "text": said[0]}])]
    for number, (command, error) in enumerate(runs):
        call = f"toolu_{abs(hash((command, number)))}"
        entries.append(
            ("assistant", [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}])
        )
        text = "ok" if error is None else f"Exit code 1\n{error}"
        result = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": error is not None}
        entries.append(("user", [result]))
    return [*entries, ("assistant", [{"type": "text", "text": said[1]}])]


@asynccontextmanager
async def history(
    project: str, settings: Settings | None = None
) -> AsyncIterator[tuple[Core, dict[int, str]]]:
    """Yield a core with the history of a project, and the id of the turn that answers each of its pairs."""
    at, right = START, {}
    async with temporary(settings, lambda: at + timedelta(days=30)) as core:
        for number, pair in enumerate(ERRORS["pair"]):
            if pair["project"] == project:
                lines = lines_of(f"s{number}", at, pair)
                right[number] = await _record(core, f"{project}-{number}", lines)
                await _ordinary(core, number, at, pair)
                at += timedelta(days=4)
        await core.writer.settle()
        await embed_all(core)
        yield core, right


async def _ordinary(core: Core, number: int, at: datetime, pair: Mapping[str, Any]) -> None:
    """Record what comes after: a chat, the error as a colleague saw it, and the command as it passes."""
    chat = ERRORS["chat"][number % len(ERRORS["chat"])]
    await _write(core, f"chat-{number}", at + timedelta(hours=3), {"user": chat[0], "assistant": chat[1]})
    seen = dict(zip(("user", "assistant"), ERRORS["reported"], strict=True))
    seen["user"] = seen["user"].format(error=pair["error"])
    await _write(core, f"seen-{number}", at + timedelta(hours=30), seen)
    passed = {**pair, "said": ["once more", "It passed."], "between": (), "then": None, "error": None}
    await _record(core, f"passed-{number}", lines_of(f"p{number}", at + timedelta(hours=60), passed))


async def _record(core: Core, session: str, lines: Sequence[str]) -> str:
    """Record the turns of a transcript; return the id of the last one."""
    written = ""
    for turn in formats.turns(lines, "claude-code"):
        at = datetime.fromisoformat(turn["started_at"])
        written = await _write(core, session, at, fields_of(turn, str))
    return written


async def _write(core: Core, session: str, at: datetime, fields: Mapping[str, Any]) -> str:
    said = Said("turn", {"session_id": session, "ts": at.isoformat(), **fields}, at)
    return str((await core.write(enveloped(said, SCOPE, at, "hook:stop"))).id)


def by_words(turns: Sequence[Turn], query: str) -> str | None:
    """Return the turn with most of the query's words, by their rarity."""
    texts = {turn.id: set(content_words(_text(turn))) for turn in turns}
    counts = Counter(word for words in texts.values() for word in words)
    asked = set(content_words(query))

    def worth(turn: Turn) -> float:
        return sum(math.log(len(turns) / counts[word]) for word in asked & texts[turn.id])

    return max(turns, key=worth).id if turns else None


def newest(turns: Sequence[Turn], command: str) -> str | None:
    """Return the newest turn that ran this command."""
    return next((turn.id for turn in reversed(turns) if command in turn.commands), None)


def _text(turn: Turn) -> str:
    failed = (failure.error for failure in turn.failures)
    return "\n".join([turn.user or "", turn.assistant or "", *turn.commands, *failed])


async def errors(show: bool) -> list[tuple[str, ...]]:
    """Return the table of errors and of questions how something is run."""
    counts: Counter[str] = Counter()
    for project in dict.fromkeys(pair["project"] for pair in ERRORS["pair"]):
        async with history(project) as (core, right):
            turns = sorted(
                await core.store.latest(1_000, SCOPE, core.clock(), kinds=[Turn]),
                key=lambda turn: turn.started_at,
            )
            for number, pair in enumerate(ERRORS["pair"]):
                if number in right and not pair.get("superseded"):
                    await _judge(
                        core, turns, pair["again"], pair["command"], {right[number]}, "errors", counts, show
                    )
            for each in ERRORS["never"]:
                if each["project"] == project:
                    hits = await core.search.memories(SearchMemories(query=each["error"]), SCOPE)
                    counts["never"] += 1
                    is_certain = _is_certain(hits)
                    counts["never ours"] += is_certain
                    if show and is_certain:
                        print("never:", each["error"], "->", hits.results[0].note)
            for each in ERRORS["run"]:
                if each["project"] == project:
                    ids = {turn.id for turn in turns if set(each["right"]) & set(turn.commands)}
                    await _judge(core, turns, each["ask"], None, ids, "runs", counts, show)
    return _rows(counts)


async def _judge(
    core: Core, turns: Sequence[Turn], query: str, command: str | None, right: set[str], kind: str,
    counts: Counter[str], show: bool,
) -> None:  # fmt: skip
    hits = await core.search.memories(SearchMemories(query=query), SCOPE)
    plain = await core.search.recall(SearchMemories(query=query), SCOPE)
    first = hits.results[0] if hits.results else None
    is_right = first is not None and first.id in right
    is_certain = _is_certain(hits)
    found = {
        "ours": is_right,
        "search": bool(plain.results) and plain.results[0].id in right,
        "words": by_words(turns, query) in right,
        "newest": newest(turns, command or "") in right,
    }
    counts[kind] += 1
    counts.update(f"{kind} {name}" for name, is_first in found.items() if is_first)
    counts[f"{kind} certain"] += is_certain
    counts[f"{kind} wrong"] += is_certain and not is_right
    if show and not is_right:
        told = f"{first.note!r} {(first.memory or '')[:90]!r}" if first else "nothing"
        print(f"{kind}: {query!r} -> {told}")


def _is_certain(hits: MemoryHits) -> bool:
    """Return True if an answer by commands is not shown as one that is only similar."""
    note = hits.results[0].note if hits.results else None
    return bool(note) and hits.confidence == "strong" and "similar" not in str(note)


def _rows(counts: Mapping[str, int]) -> list[tuple[str, ...]]:
    rows = [("", "asked", "first", "wrong, of certain", "search alone", "words alone", "newest")]
    for kind in ("errors", "runs"):
        cells = [str(counts[kind]), *(f"{100 * counts[f'{kind} ours'] / counts[kind]:.0f} %",)]
        cells += [f"{counts[f'{kind} wrong']} of {counts[f'{kind} certain']}"]
        cells += [
            f"{100 * counts[f'{kind} {name}'] / counts[kind]:.0f} %" for name in ("search", "words", "newest")
        ]
        rows.append((kind, *cells))
    return [
        *rows,
        ("never seen", str(counts["never"]), "", f"{counts['never ours']} of {counts['never']}", "", "", ""),
    ]


async def calls(show: bool) -> list[tuple[str, ...]]:
    """Return the table of what is said before tool calls."""
    counts: Counter[str] = Counter()
    for name, labels in CALLS.items():
        project = projects.load(projects.FOLDER / f"{name}.toml")
        prepared, keys = await _prepared(project)
        sessions = [("ordinary", session) for session in labels["sessions"]]
        sessions += [("aimed", [call]) for call in labels["aimed"]]
        for kind, session in sessions:
            given: set[str] = set()
            for call in session:
                inputs, right = _call(call)
                event = SimpleNamespace(kind="before", inputs=inputs)
                found = tools.before_tool(event, prepared, project.now.timestamp())
                key = keys.get(found["id"]) if found and found["id"] not in given else None
                given.update([found["id"]] if found else [])
                base = _newest_named(project, inputs)
                for teller, said in (("", key), ("newest ", base)):
                    counts[f"{teller}{kind} said"] += said is not None
                    counts[f"{teller}{kind} right"] += said is not None and said in right
                counts[kind] += 1
                counts[f"{kind} labelled"] += bool(right)
                if show and (key or right) and (key is None or key not in right):
                    print(f"{name} {kind}: {call} -> {found and found['text']}")
    return _call_rows(counts)


def _call_rows(counts: Mapping[str, int]) -> list[tuple[str, ...]]:
    rows = [("calls", "calls ", "silent", "right, of said", "found, of labelled")]
    for kind in ("ordinary", "aimed"):
        for teller in ("", "newest "):
            said, right = counts[f"{teller}{kind} said"], counts[f"{teller}{kind} right"]
            silent = f"{100 * (counts[kind] - said) / counts[kind]:.1f} %"
            name = f"{kind}, {teller or 'hints'}".strip()
            found = f"{right} of {counts[f'{kind} labelled']}"
            rows.append((name, str(counts[kind]), silent, f"{right} of {said}", found))
    return rows


async def _prepared(project: projects.Project) -> tuple[Mapping[str, Any], dict[str, str]]:
    """Return what an engine writes down for the tools of a project, and the keys of the records by id."""
    async with temporary(Settings(inject="edit"), lambda: project.now) as core:
        said, ids = said_by(project.records, SCOPE)
        await record_all(core, said)
        prepared = await core.search.prepared(SCOPE)
    return prepared.hints or {}, {record_id: key for key, record_id in ids.items()}


def _call(line: str) -> tuple[dict[str, str], list[str]]:
    """Return a call's inputs, and the keys of the records that are worth a line."""
    call, _, right = line.partition(" => ")
    tool, _, rest = call.partition(" ")
    if tool == "run":
        return {"command": rest}, right.split()
    path, _, text = rest.partition(" :: ")
    return {"file_path": f"/work/{path}", "old_string": "", "new_string": text}, right.split()


def _newest_named(project: projects.Project, inputs: Mapping[str, str]) -> str | None:
    """Return the key of the newest record that has the name of the file, or the command's first two words."""
    name = inputs.get("file_path", "").rpartition("/")[2] or " ".join(inputs["command"].split()[:2])
    found = (
        record.key or ""
        for record in reversed(project.records)
        if record.kind != "document" and name in record.text
    )
    return next(found, None)


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description="Measure what comes at an error, before an edit and before a command."
    )
    parser.add_argument("--show", action="store_true", help="print what is missed")
    parser.add_argument("--calls", action="store_true", help="only the tool calls, without a model")
    options = parser.parse_args()
    print(head(header()), end="\n\n")
    print(grid(asyncio.run(calls(options.show))), end="\n\n")
    print(grid(asyncio.run(errors(options.show))) if not options.calls else "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
