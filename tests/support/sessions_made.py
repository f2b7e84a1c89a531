"""Sessions of Claude Code as a user might have them, made from a list of steps: the lines of their transcripts
and the events of their hooks, in the order of time.

The expected turns of a session are made with it, so that a test can compare the two.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

BEGAN = datetime(2026, 3, 5, 9, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

# What may happen in a session. A turn is "plain" unless it is one of the others.
TURNS = "plain tools questioned rejected queued image failed interrupted unreported late split".split()
OTHERS = "pause resume_capture exclude_visit move come_back compact fork reopen restart".split()


FOLDERS = {"move": "swallow", "exclude_visit": "secret", "come_back": "sparrow"}


class Line(NamedTuple):
    """A line that the host adds to a transcript."""

    path: Path
    entry: dict[str, Any]


class Hook(NamedTuple):
    """An event that the host gives its hook."""

    name: str
    payload: dict[str, Any]


class Capture(NamedTuple):
    """The user pauses or resumes capture."""

    paused: bool


class Restart(NamedTuple):
    """The engine ends and another one starts."""


Event = Line | Hook | Capture | Restart


class Said(NamedTuple):
    """A turn that must be recorded. `user` and `assistant` are "" if nothing of them may be recorded."""

    at: datetime
    folder: str
    user: str
    assistant: str


@dataclass
class Made:
    """A session in the making; `events` are all that happened, with their times."""

    root: Path
    has_ids: bool  # whether hooks name the prompt, as Claude Code does since 2.1
    session: str = "5b1e4f0a-0000-4000-8000-000000000000"
    events: list[tuple[datetime, Event]] = field(default_factory=list)
    expected: list[Said] = field(default_factory=list)
    now: datetime = BEGAN
    paused: bool = False
    _count: int = 0
    _turns: int = 0
    _forks: int = 0
    _lines: list[dict[str, Any]] = field(default_factory=list)
    _folder: str = "sparrow"

    @property
    def folder(self) -> str:
        """The working directory."""
        return str(self.root / self._folder)

    @property
    def path(self) -> Path:
        """The transcript."""
        return self.root / ".claude" / "projects" / "-sparrow" / f"{self.session}.jsonl"

    def play(self, steps: list[str]) -> Made:
        """Run these steps, one after another, and end the session."""
        self._hook("SessionStart", source="startup")
        for step in steps:
            self.now += 2 * MINUTE
            if step in FOLDERS:
                self._folder = FOLDERS[step]
            else:
                getattr(self, f"_{step}", self._turn)(step)
        self.now += 2 * MINUTE
        self._hook("SessionEnd", reason="exit")
        return self

    def _add(self, event: Event) -> None:
        self.events.append((self.now, event))

    def _hook(self, name: str, **fields: Any) -> None:
        common = {"session_id": self.session, "transcript_path": str(self.path), "cwd": self.folder}
        self._add(Hook(name, {**common, "hook_event_name": name, **fields}))

    def _line(self, kind: str, content: Any, **fields: Any) -> None:
        self._count += 1
        parent = self._lines[-1]["uuid"] if self._lines else None
        entry = {
            "type": kind,
            "uuid": f"00000000-0000-4000-8000-{self._count:012}",
            "parentUuid": parent,
            "sessionId": self.session,
            "cwd": self.folder,
            "timestamp": self.now.isoformat().replace("+00:00", "Z"),
            **({"message": {"role": kind, "content": content}} if content is not None else {}),
            **fields,
        }
        self._lines.append(entry)
        self._add(Line(self.path, entry))

    def _turn(self, kind: str) -> None:
        self._turns += 1
        number = self._turns
        key = f"11111111-0000-4000-8000-{number:012}"
        ids = {"prompt_id": key} if self.has_ids else {}
        asked, answer = f"What became of heron {number}?", f"Heron {number} flew to lake {number}."
        began, folder = self.now, self.folder
        user, whole = asked, answer
        if kind != "unreported":
            self._hook("UserPromptSubmit", prompt="" if kind == "image" else asked, **ids)
        blocks: list[dict[str, Any]] = [{"type": "text", "text": asked}]
        if kind == "image":
            blocks, user = [{"type": "image", "source": {"type": "base64", "data": "aGk="}}], "[image]"
        self.now += timedelta(milliseconds=50)
        self._line("user", blocks, promptId=key)
        self.now += timedelta(seconds=20)
        first = f"I look for heron {number}."
        if kind in ("tools", "questioned", "rejected", "queued"):
            name = {"questioned": "AskUserQuestion", "tools": "Bash"}.get(kind, "Edit")
            use = {"type": "tool_use", "id": f"t{number}", "name": name, "input": {"command": "ls herons"}}
            self._line("assistant", [{"type": "text", "text": first}])
            self._line("assistant", [use])
            self.now += timedelta(seconds=20)
            whole = f"{first}\n\n{answer}"
        if kind == "tools":
            self._line("user", [{"type": "tool_result", "tool_use_id": f"t{number}", "content": "a b c"}])
        elif kind == "questioned":
            words = f"Which lake of {number}?", f"The {number}th."
            told = f'User has answered your questions: "{words[0]}"="{words[1]}". You can now continue.'
            result = [{"type": "tool_result", "tool_use_id": f"t{number}", "content": told}]
            self._line("user", result, toolUseResult={"answers": {words[0]: words[1]}})
            user = f"{asked}\n\n{words[0]} {words[1]}"
        elif kind == "rejected":
            told = (
                "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how "
                f"to proceed, the user said:\nLeave heron {number} alone."
            )
            self._line("user", [{"type": "tool_result", "tool_use_id": f"t{number}", "content": told}])
            user = f"{asked}\n\nLeave heron {number} alone."
        elif kind == "queued":
            added = f"And heron {number} b?"
            note = {"type": "queued_command", "prompt": added, "commandMode": "prompt"}
            self._line("attachment", None, attachment=note)
            user = f"{asked}\n\n{added}"
        self.now += timedelta(seconds=20)
        if kind == "failed":
            self._line("assistant", [{"type": "text", "text": "API Error: 529"}], isApiErrorMessage=True)
            whole = ""
        elif kind == "interrupted":
            self._line("assistant", [{"type": "text", "text": answer}])
            self._line("user", [{"type": "text", "text": "[Request interrupted by user]"}])
        elif kind == "late":  # the host's file is behind its hook
            self._hook("Stop", last_assistant_message=answer, stop_hook_active=False, **ids)
            self._line("assistant", [{"type": "text", "text": answer}])
        elif kind == "split":
            self._line("assistant", [{"type": "text", "text": first}])
            self._line("assistant", [{"type": "text", "text": answer}])
            self._hook("Stop", last_assistant_message=answer, stop_hook_active=False, **ids)
            whole = f"{first}\n\n{answer}"
        else:
            self._line("assistant", [{"type": "text", "text": answer}])
            if kind != "unreported":
                self._hook("Stop", last_assistant_message=answer, stop_hook_active=False, **ids)
        if not self.paused and "secret" not in folder:
            self.expected.append(Said(began, folder, user, whole))

    def _pause(self, _: str) -> None:
        if not self.paused:
            self.paused = True
            self._add(Capture(True))

    def _resume_capture(self, _: str) -> None:
        if self.paused:
            self.paused = False
            self._add(Capture(False))

    def _compact(self, _: str) -> None:
        text = "This session is being continued from a previous conversation that ran out of context."
        self._line("user", text, isCompactSummary=True)
        self._hook("SessionStart", source="compact")

    def _fork(self, _: str) -> None:
        self._hook("SessionEnd", reason="exit")
        self._forks += 1
        self.session = f"5b1e4f0a-0000-4000-8000-{self._forks:012}"
        self._lines = [{**entry, "sessionId": self.session} for entry in self._lines]
        for entry in self._lines:
            self._add(Line(self.path, entry))
        self._hook("SessionStart", source="resume")

    def _reopen(self, _: str) -> None:
        self._hook("SessionEnd", reason="exit")
        self.now += 30 * MINUTE
        self._hook("SessionStart", source="resume")

    def _restart(self, _: str) -> None:
        self._add(Restart())


def written(events: list[tuple[datetime, Event]]) -> Iterator[Path]:
    """Write the transcripts whole; return their paths."""
    for path in dict.fromkeys(event.path for _, event in events if isinstance(event, Line)):
        path.unlink(missing_ok=True)
        yield path
    for _, event in events:
        if isinstance(event, Line):
            append(event)


def append(line: Line) -> None:
    """Add a line to its file, as the host does."""
    line.path.parent.mkdir(parents=True, exist_ok=True)
    with line.path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line.entry) + "\n")
