"""Measures the effect of openings: compares sessions with an opening and sessions without one."""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean, variance

from scrubjay.engine.verbs.verb import Verb
from scrubjay.home import given
from scrubjay.models.records import Turn
from scrubjay.models.results import Result
from scrubjay.store import conditions
from scrubjay.text.terms import content_words

ENOUGH = 20  # sessions of each kind that are needed; with fewer, an interval means nothing
SIGNS = ("repeated questions, % of prompts", "corrections, % of prompts", "tokens of a session")
_MIN_WORDS = 3  # content words; a shorter prompt is never a repetition
_MIN_SHARED = 0.8  # share of the words of a repeated prompt
_CONFIDENCE = 1.96  # standard errors on each side of a 95 % interval
_CORRECTION = re.compile(
    r"(?i)\s*(?:no|nope|wrong|stop|undo|revert|that(?:'s| is) (?:not|wrong)|not what i|i (?:said|meant|told)"
    r"|as i said|you (?:forgot|missed)|nein|falsch)\b"
)


class Sign(Result):
    """The mean of a sign in sessions with and without an opening, and the 95 % interval of the difference."""

    name: str
    opened: float
    withheld: float
    least: float
    most: float


class Effect(Result):
    """The number of sessions of each kind; `signs` is empty until each kind has `enough`."""

    opened: int
    withheld: int
    enough: int
    signs: tuple[Sign, ...] = ()


class Effects(Verb):
    """Compares sessions."""

    async def measure(self) -> Effect:
        """Compare the sessions since the first one without an opening."""
        await self._writer.catch_up()
        lines = await asyncio.to_thread(given.read, self._home)
        first = next((index for index, line in enumerate(lines) if line.by == given.WITHHELD), len(lines))
        arms = {line.session: line.by for line in lines[first:] if line.by in (given.WITHHELD, "opening")}
        scopes = {line.scope for line in lines[first:] if line.session in arms}
        current = conditions.current(Turn, self._clock())
        where = conditions.both(conditions.one_of("scope", scopes), current, conditions.missing("role"))
        columns = ["scope", "session_id", "started_at", "user", "assistant"]
        turns = await self._store.select(Turn, where, columns=columns) if scopes else []
        return await asyncio.to_thread(compare, turns, arms)


def compare(turns: Iterable[Turn], arms: dict[str, str]) -> Effect:
    """Compare sessions; `arms` has their kinds in `given.log`, and `turns` are those of their projects."""
    signs_by_arm: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    sessions: dict[str, list[Turn]] = defaultdict(list)
    earlier_prompts: dict[str, _Prompts] = defaultdict(_Prompts)
    repeats = Counter[str]()
    for turn in sorted(turns, key=lambda turn: turn.started_at):
        name = given.name_of(turn.session_id)
        sessions[name].append(turn)
        repeats[name] += earlier_prompts[turn.scope].repeats(turn.user or "", name)
    for name, session in sessions.items():
        prompts = [turn.user for turn in session if turn.user]
        if prompts and name in arms:
            corrections = sum(_CORRECTION.match(prompt) is not None for prompt in prompts[1:])
            tokens = sum(given.tokens_of(f"{turn.user or ''}{turn.assistant or ''}") for turn in session)
            shares = (100 * count / len(prompts) for count in (repeats[name], corrections))
            signs_by_arm[arms[name]].append((*shares, float(tokens)))
    opened, withheld = signs_by_arm["opening"], signs_by_arm[given.WITHHELD]
    is_enough = min(len(opened), len(withheld)) >= ENOUGH
    columns = zip(SIGNS, zip(*opened, strict=True), zip(*withheld, strict=True), strict=True)
    signs = tuple(_sign(*column) for column in columns) if is_enough else ()
    return Effect(opened=len(opened), withheld=len(withheld), enough=ENOUGH, signs=signs)


class _Prompts:
    """The prompts of a project so far."""

    def __init__(self) -> None:
        self._count = 0
        # for each word, the numbers and sessions of the prompts with it
        self._by_word: dict[str, list[tuple[int, str]]] = defaultdict(list)

    def repeats(self, prompt: str, session: str) -> bool:
        """Add a prompt; return True if it repeats a prompt of an earlier session."""
        words = set(content_words(prompt))
        shared = Counter(place for word in words for place in self._by_word[word] if place[1] != session)
        for word in words:
            self._by_word[word].append((self._count, session))
        self._count += 1
        return len(words) >= _MIN_WORDS and max(shared.values(), default=0) >= _MIN_SHARED * len(words)


def _sign(name: str, opened: Sequence[float], withheld: Sequence[float]) -> Sign:
    opened_mean, withheld_mean = fmean(opened), fmean(withheld)
    difference = opened_mean - withheld_mean
    error = _CONFIDENCE * math.sqrt(variance(opened) / len(opened) + variance(withheld) / len(withheld))
    return Sign(
        name=name,
        opened=opened_mean,
        withheld=withheld_mean,
        least=difference - error,
        most=difference + error,
    )
