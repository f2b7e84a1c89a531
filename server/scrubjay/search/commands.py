"""Answers from commands that were run: what made one pass after an error, and how something is run here."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from scrubjay.models.records import Turn
from scrubjay.store import conditions
from scrubjay.store.conditions import Where
from scrubjay.store.store import Store
from scrubjay.text.terms import content_words
from scrubjay.transcripts.failures import Failure, Shape, error_line, names_error, shape

_COLUMNS = ("id", "session_id", "started_at", "metadata", "files")
_LATER = timedelta(days=2)  # within which the same command passes because of what was done meanwhile
_SIMILAR = 0.7  # share of an error's words in a similar one
_SAME = 0.5  # share of an error's names that are those of the same one
_LEAST_WORDS = 3  # of an error that is recognized by its words alone
_LETTERS = 4  # least letters of a word by which turns with an error are found
_MOST_WORDS = 12  # such words, the longest
_MOST_ALIKE = 20  # commands with similar errors whose later success is looked for
_EVERYWHERE = frozenset({"failed", "commands", "exit", "error"})  # in the metadata of all turns with failures
_PART = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_GENERIC = frozenset("run runs running start command commands use used here out what way project".split())
_WORD = re.compile(r"[a-z][\w-]+")
_SHOWN = 80  # characters of a command
_ASKS = re.compile(
    r"(?i)\bhow (?:do|does|can|should|are|is|to|did)\b.{0,60}\b(?:run|ran|start|launch|execute|build"
    r"|built|lint"
    r"|test|format|deploy|migrat\w+|install|seed|generated?|check|call|invoke)\w*\b"
    r"|\b(?:which|what)(?:'s| is)? (?:the )?command\b"
)
# Words of a question, and what commands for that are called.
_KINDS = {
    r"tests?|testing|suite|specs?": r"test|tests|pytest|jest|vitest|rspec|phpunit|tox|nox|spec|ctest",
    r"lint\w*|style check\w*": r"lint|ruff|eslint|flake8|clippy|golangci-lint|rubocop|biome|shellcheck",
    r"format\w*": r"fmt|format|black|prettier|gofmt|rustfmt",
    r"types?|type-?check\w*|typing": r"mypy|tsc|pyright|typecheck|type-check|check-types",
    r"migrat\w+|schema": r"migrate|migration|migrations|alembic|flyway|liquibase|prisma|knex|dbmate|sqlx",
    r"build\w*|compil\w+|bundle": r"build|compile|assemble|bundle|gradle|gradlew|mvn|cmake|webpack|vite",
    r"servers?|app|locally|dev|stack": r"serve|dev|runserver|uvicorn|gunicorn|start|up|run",
    r"deploy\w*|releas\w+|roll ?out": r"deploy|release|ship|kubectl|flyctl|helm|fastlane|ansible-playbook",
    r"install\w*|set ?up|dependenc\w+": r"install|sync|ci|setup|bootstrap",
    r"bench\w*|load test\w*": r"bench|benchmark|k6|locust|wrk|hey",
    r"seed\w*|fixtures?": r"seed|loaddata|fixtures",
    r"docs?|documentation": r"docs|mkdocs|sphinx-build|typedoc",
    r"coverage": r"coverage|cov|--cov|--coverage",
}  # fmt: skip
_KIND_RULES = tuple(
    (re.compile(rf"(?i)\b(?:{asked})\b"), re.compile(rf"(?:^|[\s/:;&])-{{0,2}}(?:{called})(?=$|[\s:;.&=-])"))
    for asked, called in _KINDS.items()
)


@dataclass(frozen=True)
class Found:
    """The turn that answers, a note about its command, and False if it is only likely to be meant."""

    id: str
    note: str
    is_certain: bool = True


class Fix(NamedTuple):
    """An error of a turn, and the turn in which its command passed; None if none did."""

    failed: Turn
    failure: Failure
    fixed: Turn | None

    @property
    def shown(self) -> str:
        """Return what happened in one sentence."""
        command = f"`{_brief(self.failure.command)}`"
        then = f"{command} failed so on {self.failed.started_at.astimezone():%Y-%m-%d}"
        if self.fixed is None:
            return f"{then}; no later success is recorded"
        after = f" after `{_brief(self.failure.then)}`" if self.failure.then else ""
        return f"{then}, and passed{after or ' in this turn'}"


async def find(store: Store, query: str, scopes: Sequence[str] | None, now: datetime) -> Found | None:
    """Return the turn that answers an error, or a question how something is run here; None without one."""
    here = None if scopes is None else conditions.one_of("scope", scopes)
    where = conditions.both(here, conditions.current(Turn, now))
    found = await _fix(store, where, error_line(query)) if names_error(query) else None
    if found is not None or not _ASKS.search(query):
        return found
    return how_run(query, await _read(store, where, conditions.contains("metadata", '"commands"')))


async def _fix(store: Store, where: Where, line: str) -> Found | None:
    """Return what made an error's command pass last time.

    Of turns with failed commands only those with a word of it are read, then those with the commands that
    failed so: all that ran commands may be most of the turns.
    """
    asked = shape(line)
    words = {word for word in _WORD.findall(asked.loose) if len(word) >= _LETTERS} - _EVERYWHERE
    if not words:
        return None
    rare = [conditions.contains("lower(metadata)", word) for word in sorted(words, key=len)[-_MOST_WORDS:]]
    with_failures = conditions.contains("metadata", '"failed"')
    turns = await _read(store, where, conditions.both(with_failures, conditions.either(*rare)))
    alike: dict[str, tuple[int, float]] = {}
    for failure in (failure for turn in turns for failure in turn.failures):
        likeness = _likeness(asked, shape(failure.error))
        alike[failure.command] = max(likeness, alike.get(failure.command, likeness))
    known = sorted((command for command in alike if alike[command][0]), key=lambda each: alike[each])
    if not known:
        return None
    ran = [json.dumps(command, ensure_ascii=False)[1:-1] for command in known[-_MOST_ALIKE:]]
    ran_them = conditions.either(*(conditions.contains("metadata", command) for command in ran))
    return fix_for(line, fixes(await _read(store, where, ran_them)))


async def _read(store: Store, where: Where, condition: Where) -> list[Turn]:
    """Return the turns with both conditions, oldest first, without their words."""
    turns = await store.select(Turn, conditions.both(where, condition), columns=_COLUMNS)
    return sorted(turns, key=lambda turn: turn.started_at)


def fixes(turns: Sequence[Turn]) -> list[Fix]:
    """Return the errors of these turns, oldest first, with what made their commands pass."""
    return [
        Fix(
            turn,
            failure,
            turn if failure.then is not None else _passed(failure.command, turn, turns[at + 1 :]),
        )
        for at, turn in enumerate(turns)
        for failure in turn.failures
        if failure.error
    ]


def _passed(command: str, failed: Turn, later: Sequence[Turn]) -> Turn | None:
    """Return the next turn in which a command passed, soon after it failed."""
    for turn in later:
        if turn.started_at - failed.started_at > _LATER:
            return None
        if command in passed_commands(turn):
            return turn
    return None


def passed_commands(turn: Turn) -> list[str]:
    """Return the commands of a turn that did not fail in the end."""
    failed = {failure.command for failure in turn.failures if failure.then is None}
    return [command for command in turn.commands if command not in failed]


def fix_for(line: str, known: Iterable[Fix]) -> Found | None:
    """Return what made this error pass last time: the same one, else one that differs only by names.

    What was never fixed is named only if nothing else is known.
    """
    asked = shape(line)
    ranked = [(_likeness(asked, shape(fix.failure.error)), fix) for fix in known]
    ranked = [(likeness, fix) for likeness, fix in ranked if likeness[0]]
    if not ranked:
        return None
    (level, _), fix = max(
        ranked, key=lambda each: (each[0], each[1].fixed is not None, each[1].failed.started_at)
    )
    note = fix.shown if level == 3 else f"a similar error: {fix.shown}"
    return Found((fix.fixed or fix.failed).id, note, level == 3 and fix.fixed is not None)


def _likeness(asked: Shape, error: Shape) -> tuple[int, float]:
    """Return how alike two errors are (3 the same, 2 but for names, 1 by words, 0 not), and their details."""
    shared = len(asked.details & error.details) / (len(error.details) or 1)
    if error.strict in asked.strict:
        return 3, shared
    if error.loose in asked.loose:
        return (3 if shared >= _SAME else 2), shared
    words, others = set(_WORD.findall(error.loose)), set(_WORD.findall(asked.loose))
    is_similar = len(words) >= _LEAST_WORDS and len(words & others) >= _SIMILAR * len(words)
    return int(is_similar), shared


def how_run(question: str, turns: Sequence[Turn]) -> Found | None:
    """Return the command that answers how something is run here: the one that passed most often."""
    kinds = [called for asked, called in _KIND_RULES if asked.search(question)]
    words = set(content_words(question.casefold())) - _GENERIC
    named = {word for word in words if not any(asked.fullmatch(word) for asked, _ in _KIND_RULES)}
    ran: Counter[str] = Counter()
    last: dict[str, Turn] = {}
    for turn in turns:
        for command in passed_commands(turn):
            ran[command] += 1
            last[command] = turn

    def fit(command: str) -> float:
        parts = " ".join(_PART.findall(command)).casefold()
        held = {word for word in words if re.search(rf"\b{re.escape(word)}", parts)}
        of_kind = sum(bool(called.search(command) or called.search(parts)) for called in kinds)
        if not of_kind and (kinds or not held & named):
            return 0.0
        return 2 * of_kind + sum(1.0 if word in named else 0.5 for word in held)

    fitting = {command: fit(command) for command in ran}
    best = max(ran, key=lambda each: (fitting[each], ran[each], last[each].started_at), default=None)
    if best is None or not fitting[best]:
        return None
    times = f"in {ran[best]} turns, last " if ran[best] > 1 else ""
    return Found(
        last[best].id, f"`{_brief(best)}` passed here {times}on {last[best].started_at.astimezone():%Y-%m-%d}"
    )


def _brief(command: str) -> str:
    return command if len(command) <= _SHOWN else f"{command[: _SHOWN - 1]}…"
