"""Answers from commands that were run: what made one pass after it failed, and how something is run here."""

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
from scrubjay.text.tables import table
from scrubjay.text.terms import content_words
from scrubjay.transcripts.failures import Failure, Shape, error_line, names_error, shape

_COLUMNS = ("id", "session_id", "started_at", "metadata", "files")
_LATER = timedelta(days=2)  # a command that passes within this time was fixed by what was done in between
_SIMILAR = 0.7  # a similar error has at least this share of an error's words
_SAME = 0.5  # a question about the same error has at least this share of its names
_LEAST_WORDS = 3  # words of an error that is recognized by its words alone
# Turns with an error are found by the longest words of the error: at most _MOST_WORDS, of at least _LETTERS.
_LETTERS, _MOST_WORDS = 4, 12
_MOST_ALIKE = 20  # commands with similar errors whose later success is searched for
_EVERYWHERE = frozenset({"failed", "commands", "exit", "error"})  # words in the metadata of every failure
_PART = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_GENERIC = frozenset("run runs running start command commands use used here out what way project".split())
_WORD = re.compile(r"[a-z][\w-]+")
_SHOWN = 80  # characters of a command
_TABLE = table("commands")
_ASKS = re.compile("|".join(_TABLE["asks"]), re.IGNORECASE)
# Patterns of words in a question, each with the pattern of the commands that answer it.
_KIND_RULES = tuple(
    (re.compile(rf"(?i)\b(?:{words})\b"), re.compile(rf"(?:^|[\s/:;&])-{{0,2}}(?:{names})(?=$|[\s:;.&=-])"))
    for words, names in _TABLE["kinds"].items()
)


@dataclass(frozen=True)
class CommandAnswer:
    """The turn that answers, and a note about its command; not `is_certain` if it may be the wrong turn."""

    id: str
    note: str
    is_certain: bool = True


class Fix(NamedTuple):
    """An error of a turn, and the turn in which its command passed, or None."""

    failed: Turn
    failure: Failure
    fixed: Turn | None

    @property
    def sentence(self) -> str:
        """Return one sentence that says what happened."""
        command = f"`{_brief(self.failure.command)}`"
        failure = f"{command} failed like this on {self.failed.started_at.astimezone():%Y-%m-%d}"
        if self.fixed is None:
            return f"{failure}; no later success is recorded"
        after = f" after `{_brief(self.failure.then)}`" if self.failure.then else ""
        return f"{failure}, and passed{after or ' in this turn'}"


async def find(store: Store, query: str, scopes: Sequence[str] | None, now: datetime) -> CommandAnswer | None:
    """Return the turn that answers a query with an error or about how something is run here, or None."""
    in_scopes = None if scopes is None else conditions.one_of("scope", scopes)
    where = conditions.both(in_scopes, conditions.current(Turn, now))
    answer = await _fix(store, where, error_line(query)) if names_error(query) else None
    if answer is not None or not _ASKS.search(query):
        return answer
    return how_run(query, await _read(store, where, conditions.contains("metadata", '"commands"')))


async def _fix(store: Store, where: Where, line: str) -> CommandAnswer | None:
    """Return what made an error's command pass last time.

    Only turns with failed commands and a word of the error are read, then only turns with the commands that
    failed in this way, because most turns may have run commands.
    """
    wanted = shape(line)
    words = {word for word in _WORD.findall(wanted.loose) if len(word) >= _LETTERS} - _EVERYWHERE
    if not words:
        return None
    with_word = [
        conditions.contains("lower(metadata)", word) for word in sorted(words, key=len)[-_MOST_WORDS:]
    ]
    with_failures = conditions.contains("metadata", '"failed"')
    turns = await _read(store, where, conditions.both(with_failures, conditions.either(*with_word)))
    alike: dict[str, tuple[int, float]] = {}
    for failure in (failure for turn in turns for failure in turn.failures):
        likeness = _likeness(wanted, shape(failure.error))
        alike[failure.command] = max(likeness, alike.get(failure.command, likeness))
    similar = sorted((command for command in alike if alike[command][0]), key=lambda each: alike[each])
    if not similar:
        return None
    literals = [json.dumps(command, ensure_ascii=False)[1:-1] for command in similar[-_MOST_ALIKE:]]
    has_command = conditions.either(*(conditions.contains("metadata", literal) for literal in literals))
    return fix_for(line, fixes(await _read(store, where, has_command)))


async def _read(store: Store, where: Where, condition: Where) -> list[Turn]:
    """Read the turns that match both conditions, oldest first, without their texts."""
    turns = await store.select(Turn, conditions.both(where, condition), columns=_COLUMNS)
    return sorted(turns, key=lambda turn: turn.started_at)


def fixes(turns: Sequence[Turn]) -> list[Fix]:
    """Return the errors of these turns, oldest first, with what made their commands pass."""
    return [
        Fix(
            turn,
            failure,
            turn if failure.then is not None else _turn_with_success(failure.command, turn, turns[number:]),
        )
        for number, turn in enumerate(turns, 1)
        for failure in turn.failures
        if failure.error
    ]


def _turn_with_success(command: str, failed: Turn, later: Sequence[Turn]) -> Turn | None:
    """Return the next turn in which a command passed, soon after it failed."""
    for turn in later:
        if turn.started_at - failed.started_at > _LATER:
            return None
        if command in passed_commands(turn):
            return turn
    return None


def passed_commands(turn: Turn) -> list[str]:
    """Return the commands of a turn that passed in the end."""
    failed = {failure.command for failure in turn.failures if failure.then is None}
    return [command for command in turn.commands if command not in failed]


def fix_for(line: str, candidates: Iterable[Fix]) -> CommandAnswer | None:
    """Return what fixed this error last time, else one that differs only by names, else a similar one.

    An error that was never fixed is returned only if no fixed one is as similar.
    """
    wanted = shape(line)
    ranked = [(_likeness(wanted, shape(fix.failure.error)), fix) for fix in candidates]
    ranked = [(likeness, fix) for likeness, fix in ranked if likeness[0]]
    if not ranked:
        return None
    (level, _), fix = max(
        ranked, key=lambda each: (each[0], each[1].fixed is not None, each[1].failed.started_at)
    )
    note = fix.sentence if level == 3 else f"a similar error: {fix.sentence}"
    return CommandAnswer((fix.fixed or fix.failed).id, note, level == 3 and fix.fixed is not None)


def _likeness(wanted: Shape, error: Shape) -> tuple[int, float]:
    """Return how alike two errors are, and the share of the error's details that the wanted one has.

    The first number is 3 for the same error, 2 for one that differs by names, 1 for one with similar words,
    else 0.
    """
    shared = len(wanted.details & error.details) / (len(error.details) or 1)
    if error.strict in wanted.strict:
        return 3, shared
    if error.loose in wanted.loose:
        return (3 if shared >= _SAME else 2), shared
    error_words, wanted_words = set(_WORD.findall(error.loose)), set(_WORD.findall(wanted.loose))
    is_similar = len(error_words) >= _LEAST_WORDS and len(error_words & wanted_words) >= _SIMILAR * len(
        error_words
    )
    return int(is_similar), shared


def how_run(question: str, turns: Sequence[Turn]) -> CommandAnswer | None:
    """Return the command that answers how something is run here: the one that passed most often."""
    kinds = [names for pattern, names in _KIND_RULES if pattern.search(question)]
    words = set(content_words(question.casefold())) - _GENERIC
    specific = {word for word in words if not any(kind.fullmatch(word) for kind, _ in _KIND_RULES)}
    count: Counter[str] = Counter()
    last: dict[str, Turn] = {}
    for turn in turns:
        for command in passed_commands(turn):
            count[command] += 1
            last[command] = turn

    def score(command: str) -> float:
        parts = " ".join(_PART.findall(command)).casefold()
        matched = {word for word in words if re.search(rf"\b{re.escape(word)}", parts)}
        kind_count = sum(bool(names.search(command) or names.search(parts)) for names in kinds)
        if not kind_count and (kinds or not matched & specific):
            return 0.0
        return 2 * kind_count + sum(1.0 if word in specific else 0.5 for word in matched)

    scores = {command: score(command) for command in count}
    best = max(count, key=lambda each: (scores[each], count[each], last[each].started_at), default=None)
    if best is None or not scores[best]:
        return None
    times = f"in {count[best]} turns, last " if count[best] > 1 else ""
    return CommandAnswer(
        last[best].id, f"`{_brief(best)}` passed here {times}on {last[best].started_at.astimezone():%Y-%m-%d}"
    )


def _brief(command: str) -> str:
    return command if len(command) <= _SHOWN else f"{command[: _SHOWN - 1]}…"
