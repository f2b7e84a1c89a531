"""What an opening changes: sessions with one are compared with sessions that `effect` left without."""

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

ENOUGH = 20  # sessions of each kind; of fewer an interval says nothing
SIGNS = ("repeated questions, % of prompts", "corrections, % of prompts", "tokens of a session")
_LEAST_WORDS = 3  # content words of a prompt that can repeat another one
_ALIKE = 0.8  # of its words
_SURE = 1.96  # standard errors: 95 %
_CORRECTS = re.compile(
    r"(?i)\s*(?:no|nope|wrong|stop|undo|revert|that(?:'s| is) (?:not|wrong)|not what i|i (?:said|meant|told)"
    r"|as i said|you (?:forgot|missed)|nein|falsch)\b"
)


class Sign(Result):
    """The mean of one sign in sessions with and without an opening, and 95 % of the difference."""

    name: str
    opened: float
    withheld: float
    least: float
    most: float


class Effect(Result):
    """How many sessions there are of each kind; `signs` is empty until each has `enough`."""

    opened: int
    withheld: int
    enough: int
    signs: tuple[Sign, ...] = ()


class Effects(Verb):
    """Compares sessions."""

    async def measure(self) -> Effect:
        """Compare the sessions since the first one without an opening."""
        await self._writer.caught_up()
        lines = await asyncio.to_thread(given.read, self._home)
        first = next((at for at, line in enumerate(lines) if line.by == given.WITHHELD), len(lines))
        arms = {line.session: line.by for line in lines[first:] if line.by in (given.WITHHELD, "opening")}
        scopes = {line.scope for line in lines[first:] if line.session in arms}
        where = conditions.both(
            conditions.one_of("scope", scopes),
            conditions.current(Turn, self._clock()),
            conditions.missing("role"),
        )
        columns = ["scope", "session_id", "started_at", "user", "assistant"]
        turns = await self._store.select(Turn, where, columns=columns) if scopes else []
        return await asyncio.to_thread(compare, turns, arms)


def compare(turns: Iterable[Turn], arms: dict[str, str]) -> Effect:
    """Compare sessions by what `given.log` says of each (`arms`), with the turns of their projects."""
    told: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    sessions: dict[str, list[Turn]] = defaultdict(list)
    earlier: dict[str, _Prompts] = defaultdict(_Prompts)
    repeats = Counter[str]()
    for turn in sorted(turns, key=lambda turn: turn.started_at):
        name = given.name_of(turn.session_id)
        sessions[name].append(turn)
        repeats[name] += earlier[turn.scope].repeats(turn.user or "", name)
    for name, said in sessions.items():
        prompts = [turn.user for turn in said if turn.user]
        if prompts and name in arms:
            corrections = sum(_CORRECTS.match(prompt) is not None for prompt in prompts[1:])
            tokens = sum(given.tokens_of(f"{turn.user or ''}{turn.assistant or ''}") for turn in said)
            shares = (100 * count / len(prompts) for count in (repeats[name], corrections))
            told[arms[name]].append((*shares, float(tokens)))
    opened, withheld = told["opening"], told[given.WITHHELD]
    is_enough = min(len(opened), len(withheld)) >= ENOUGH
    columns = zip(SIGNS, zip(*opened, strict=True), zip(*withheld, strict=True), strict=True)
    signs = tuple(_sign(*column) for column in columns) if is_enough else ()
    return Effect(opened=len(opened), withheld=len(withheld), enough=ENOUGH, signs=signs)


class _Prompts:
    """The prompts of a project so far."""

    def __init__(self) -> None:
        self._sessions: list[str] = []  # of each prompt
        self._with: dict[str, list[int]] = defaultdict(list)  # prompts with a word

    def repeats(self, prompt: str, session: str) -> bool:
        """Add a prompt; return True if it has the words of one of an earlier session."""
        words = set(content_words(prompt))
        shared = Counter(at for word in words for at in self._with[word] if self._sessions[at] != session)
        for word in words:
            self._with[word].append(len(self._sessions))
        self._sessions.append(session)
        return len(words) >= _LEAST_WORDS and max(shared.values(), default=0) >= _ALIKE * len(words)


def _sign(name: str, opened: Sequence[float], withheld: Sequence[float]) -> Sign:
    difference = fmean(opened) - fmean(withheld)
    error = _SURE * math.sqrt(variance(opened) / len(opened) + variance(withheld) / len(withheld))
    return Sign(
        name=name,
        opened=fmean(opened),
        withheld=fmean(withheld),
        least=difference - error,
        most=difference + error,
    )
