"""Questions with and without an answer in the store, put to the product's own retrieval, and how right its
hits were. Knows what counts as right; makes no tables.

answered: LoCoMo's categories 1 to 4. foreign: the same categories of the next conversation but one (of the
same half), its speakers' names replaced by this one's. adversarial: category 5, which asks about the wrong
person. developer: `developer.py`. project: `projects.py`, asked at each project's `now`; without its questions
about a time, which are answered by their time, and those that ask nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import developer
import projects
from kept import SCOPE, opened, said_by, said_in
from locomo import Haystack
from signals import signals

from scrubjay.engine.core import Core
from scrubjay.search.retrieval.candidates import Candidate
from scrubjay.search.retrieval.query import Question
from scrubjay.search.retrieval.relevance import behind
from scrubjay.search.retrieval.retrieve import Ranking, retrieve

HITS = 10
ADVERSARIAL = 5
PROJECT = {"absent": "project absent", "foreign": "project foreign"} | dict.fromkeys(
    set(projects.ANSWERED) - {"time"}, "project answered"
)
Right = Callable[[Candidate], bool]


class Seen(NamedTuple):
    """What relevance saw of one candidate; `own` says that it was found itself, not beside another."""

    behind: float
    cosine: float
    tokens: float  # NaN where no codes are known
    coverage: float
    late: float
    own: bool
    right: bool


@dataclass(frozen=True)
class Judged:
    """One question's first hits: the relevance of each and whether it was right; what relevance saw of the
    first candidates; and what else may tell whether there is an answer.
    """

    kind: str
    half: str
    relevance: tuple[float, ...]
    right: tuple[bool, ...]
    seen: tuple[Seen, ...]
    evidence: float
    signals: dict[str, float]

    @property
    def first(self) -> float:
        return self.relevance[0] if self.relevance else 0.0

    @property
    def answered(self) -> bool:
        return any(self.right)

    def kept(self, threshold: float) -> int:
        """How many hits the threshold lets through."""
        return sum(value >= threshold for value in self.relevance)

    def right_kept(self, threshold: float) -> bool:
        """Whether a right one is among them."""
        return any(
            right and value >= threshold for right, value in zip(self.right, self.relevance, strict=True)
        )


async def judged(
    every: Sequence[Haystack], chosen: Sequence[int], homes: Path, *, words_only: bool
) -> AsyncIterator[Judged]:
    """Every question of the chosen conversations (from 0), of developers and of the projects; with
    `words_only` as if there were no model.
    """
    for number in chosen:
        haystack = every[number]
        foreign = every[(number + 2) % len(every)]
        half = haystack.questions[0].half
        async with opened(homes, haystack.name, said_in(haystack)) as core:
            for question in haystack.questions:
                kind = "adversarial" if question.category == ADVERSARIAL else "answered"
                where = question.evidence
                yield await _ask(
                    core,
                    question.text,
                    kind,
                    half,
                    lambda row, where=where: (row.session_id, row.place) in where,
                    words_only,
                )
            for question in foreign.questions:
                if question.category != ADVERSARIAL:
                    yield await _ask(
                        core, renamed(question.text, foreign, haystack), "foreign", half, _never, words_only
                    )
    async with opened(homes, "developer", developer.SAID) as core:
        for kind, questions in developer.QUESTIONS.items():
            for text, words in questions:
                yield await _ask(core, text, kind, "developer", _holding(words), words_only)
    for project in map(projects.load, sorted(projects.FOLDER.glob("*.toml"))):
        said, ids = said_by(project.records, SCOPE)
        async with opened(homes, f"project {project.name}", said) as core:
            for asked in (each for each in project.questions if each.kind in PROJECT):
                right = {ids[key] for key in asked.right}
                yield await _ask(
                    core,
                    asked.ask,
                    PROJECT[asked.kind],
                    asked.half,
                    lambda row, right=right: row.id in right,
                    words_only,
                    project.now,
                )


def renamed(text: str, theirs: Haystack, ours: Haystack) -> str:
    """A question about the speakers of one conversation, asked about those of another."""
    for name, other in zip(_speakers(theirs), _speakers(ours), strict=False):
        text = re.sub(rf"\b{re.escape(name)}\b", other, text)
    return text


def _speakers(haystack: Haystack) -> Iterable[str]:
    return dict.fromkeys(turn.role for turn in haystack.turns)


def _never(row: Candidate) -> bool:
    return False


def _holding(words: str | None) -> Right:
    return lambda row: (
        words is not None
        and words in (developer.whole(row.session_id, row.place) or (row.match.text if row.match else ""))
    )


async def _ask(
    core: Core,
    text: str,
    kind: str,
    half: str,
    is_right: Right,
    words_only: bool,
    now: datetime | None = None,
) -> Judged:
    question = Question(text=text, scopes=(SCOPE,), srcs=("memory", "turn"), now=now or datetime.now(UTC))
    ranked = await retrieve(core.store, question, _no_vector if words_only else core.indexer.embed_query)
    return Judged(
        kind=kind,
        half=half,
        relevance=tuple(ranked.relevance[:HITS].tolist()),
        right=tuple(is_right(row) for row in ranked.rows[:HITS]),
        seen=tuple(_seen(ranked, is_right)),
        evidence=ranked.grounds.evidence,
        signals=signals(text, ranked),
    )


def _seen(ranked: Ranking, is_right: Right) -> Iterable[Seen]:
    grounds = ranked.grounds
    apart = behind(grounds.total, quoted=grounds.signals.quoted)
    for at, *matched in zip(grounds.positions.tolist(), *grounds.matched, strict=False):
        cosine, tokens, covered = map(float, matched)
        row, late = ranked.candidates.at(at), float(grounds.signals.late[at])
        near = 0.0 if math.isnan(cosine) else cosine
        yield Seen(float(apart[at]), near, tokens, covered, late, row.match is not None, is_right(row))


async def _no_vector(text: str) -> None:
    return None
