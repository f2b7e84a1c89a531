"""Made-up projects: the turns and facts of each, and questions with and without an answer.
Knows the format of the files in the folder `projects`; does not know how anything is stored or asked.

    name, about, now, half?        the project, the time at which it is asked, and what it serves for
    [[session]] id, started        with [[session.turn]] user, assistant, after, key?
    [[fact]] key, content, at      and tags?, partition?, updates? (the key of the fact that it replaces)
    [[document]] key, path, at, content
    [[question]] ask, right, holds, kind, stale?, half? (the project's, if it has one)

`after` is minutes since the turn before, or since the session began. `right` names the keys of the records
that answer, `holds` phrases, one of them in any answer; both are empty where nothing answers. `stale` names
older records that say what no longer holds. Weights are fitted on the half `dev`. Projects of the other half,
`test`, are not looked at while choosing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

FOLDER = Path(__file__).parent / "projects"
STORES = Path(__file__).parent / "stores"  # short facts alone
HALVES = ("dev", "test")
ANSWERED = (
    "plain", "paraphrase", "why", "name", "time", "changed", "amended", "preference", "document", "cross", "store",
)  # fmt: skip
UNANSWERED = ("plausible", "absent", "foreign", "small", "no store", "other")  # other: about another thing
CHANGED = ("changed", "amended")  # of facts, and of turns


@dataclass(frozen=True)
class Record:
    """One turn, fact or document: the arguments of the tool that writes it, and when it came to be.

    `updates` is the key of the fact that it replaces. A turn has a key only if a question names it.
    """

    kind: Literal["turn", "memory", "document"]
    key: str | None
    at: datetime
    arguments: Mapping[str, Any]
    updates: str | None = None

    @property
    def text(self) -> str:
        """Its whole text."""
        said = ("user", "assistant", "content")
        return "\n".join(self.arguments[name] for name in said if name in self.arguments)


@dataclass(frozen=True)
class Question:
    """A question of the kind `kind`; constants are chosen on the half `dev`, never on `test`."""

    ask: str
    right: tuple[str, ...]
    holds: tuple[str, ...]
    half: str
    kind: str
    stale: tuple[str, ...] = ()

    @property
    def has_answer(self) -> bool:
        return bool(self.holds)


@dataclass(frozen=True)
class Project:
    """The contents of one home, in order of time, and the questions asked at the time `now`."""

    name: str
    now: datetime
    records: tuple[Record, ...]
    questions: tuple[Question, ...]


def load(path: Path) -> Project:
    """The project in a file."""
    values = tomllib.loads(path.read_text("utf-8"))
    made = [*_turns(values), *_facts(values), *_documents(values)]
    records = sorted(made, key=lambda record: record.at)
    questions = [
        Question(
            each["ask"],
            tuple(each["right"]),
            tuple(each["holds"]),
            values.get("half") or each["half"],
            each["kind"],
            tuple(each.get("stale", ())),
        )
        for each in values["question"]
    ]
    return Project(values["name"], _instant(values["now"]), tuple(records), tuple(questions))


def _turns(values: Mapping[str, Any]) -> Iterator[Record]:
    for session in values.get("session", ()):
        at = _instant(session["started"])
        for number, turn in enumerate(session["turn"]):
            at += timedelta(minutes=turn["after"])
            said = {name: turn[name] for name in ("user", "assistant") if name in turn}
            place = {"session_id": session["id"], "turn": number, "ts": at.isoformat()}
            yield Record("turn", turn.get("key"), at, place | said)


def _facts(values: Mapping[str, Any]) -> Iterator[Record]:
    for fact in values.get("fact", ()):
        names = {"content": "content", "tags": "tags", "partition": "partition_id"}
        arguments = {argument: fact[name] for name, argument in names.items() if name in fact}
        yield Record("memory", fact["key"], _instant(fact["at"]), arguments, fact.get("updates"))


def _documents(values: Mapping[str, Any]) -> Iterator[Record]:
    for document in values.get("document", ()):
        arguments = {"content": document["content"], "path": document["path"]}
        yield Record("document", document["key"], _instant(document["at"]), arguments)


def plain(text: str) -> str:
    """Normalise text for comparison: lower case, one space between words."""
    return " ".join(text.casefold().split())


def _instant(value: str | datetime) -> datetime:
    at = datetime.fromisoformat(value) if isinstance(value, str) else value
    return at if at.tzinfo else at.replace(tzinfo=UTC)
