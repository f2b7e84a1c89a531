"""Tables of recall measurements: systems, categories, times and goals. Knows outcomes and how they are
shown; measures nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from figures import Aim, grid, percentile
from locomo import CATEGORIES, Question
from metrics import Outcome, mean

SCRUBJAY = "scrubjay"
APART, POOLED = "one conversation a store", "pooled"
HALVES = ("dev", "test", "all")

_COLUMNS = {
    "any w0": "any_w0",
    "any w2": "any_w2",
    "frac w2": "frac_w2",
    "full w2": "full_w2",
    "MRR": "mrr",
    "session any w2": "session_w2",
    "any 1,000": "any_1000",
    "any 2,000": "any_2000",
    "tokens w0": "tokens_w0",
    "w2": "tokens_w2",
    "1,000": "tokens_1000",
    "2,000": "tokens_2000",
}
_SEARCHES = {"w0": "top_k 10", "w2": "top_k 10, prev_turns 2, next_turns 2", "1000": "top_k 100"}
# The targets of this project, and its longer-term goals, over all ten conversations, in percent.
_GOALS = (
    ("turn any@10, w0", APART, "any_w0", 88, 91),
    ("turn any@10, w2", APART, "any_w2", 95.2, 97),
    ("turn frac@10, w2", APART, "frac_w2", 91, 93),
    ("session any@10, w2", APART, "session_w2", 97, 98.5),
    ("session any@10, w2", POOLED, "session_w2", 94.7, 96.5),
    ("turn any within 1,000 tokens", APART, "any_1000", 93, 95),
    ("turn any within 2,000 tokens", APART, "any_2000", 96.5, 98),
)


@dataclass(frozen=True)
class Asked:
    """One question to one system over one kind of store. `ms` holds the time of each search, empty for a
    baseline.
    """

    system: str
    store: str
    question: Question
    values: Outcome
    ms: dict[str, float]


@dataclass(frozen=True)
class Group:
    """The mean over the questions of one system, store, half and kind of question."""

    system: str
    store: str
    kind: str
    half: str
    n: int
    values: Outcome


def groups(asked: Sequence[Asked]) -> list[Group]:
    """Every system over every store, by half and by category; nothing for a group without a question, nor for
    `all` of one half.
    """
    found = []
    for system, store in dict.fromkeys((each.system, each.store) for each in asked):
        own = [each for each in asked if (each.system, each.store) == (system, store)]
        halves = HALVES if len({each.question.half for each in own}) > 1 else (own[0].question.half,)
        for kind, categories in _kinds():
            for half in halves:
                few = [
                    each.values
                    for each in own
                    if each.question.category in categories and half in (each.question.half, "all")
                ]
                if few:
                    found.append(Group(system, store, kind, half, len(few), mean(few)))
    return found


def systems(found: Iterable[Group]) -> str:
    """All questions: a line a system, store and half."""
    some = [group for group in found if group.kind == "all"]
    names = [each.system if each.store == APART else f"{each.system}, {each.store}" for each in some]
    return _grid("system", zip(names, some, strict=True))


def categories(found: Iterable[Group]) -> str:
    """Scrubjay with one conversation a store: a line a category and half."""
    some = (each for each in found if (each.system, each.store) == (SCRUBJAY, APART) and each.kind != "all")
    return _grid("category", ((each.kind, each) for each in some))


def _grid(head: str, groups: Iterable[tuple[str, Group]]) -> str:
    lines = [(head, "half", "n", *_COLUMNS)]
    lines += [(name, each.half, str(each.n), *_cells(each.values)) for name, each in groups]
    return grid(lines)


def times(asked: Sequence[Asked]) -> str:
    """Milliseconds of a search from sending the call to having read its answer, the embedding of the question
    included.
    """
    lines = [("search_memories", "store", "p50 ms", "p95 ms", "searches")]
    for store in (APART, POOLED):
        for mode, arguments in _SEARCHES.items():
            if ms := [each.ms[mode] for each in asked if each.store == store and mode in each.ms]:
                middle, high = (f"{percentile(ms, share):.1f}" for share in (0.5, 0.95))
                lines.append((arguments, store, middle, high, str(len(ms))))
    return grid(lines)


def goals(found: Sequence[Group]) -> list[Aim]:
    """The goals that were measured."""
    whole = {
        group.store: group.values
        for group in found
        if (group.system, group.kind, group.half) == (SCRUBJAY, "all", "all")
    }
    return [
        Aim(f"{what}, {store}", reach, further, 100 * whole[store][metric])
        for what, store, metric, reach, further in _GOALS
        if store in whole
    ]


def _kinds() -> Iterator[tuple[str, set[int]]]:
    yield "all", set(CATEGORIES)
    yield "categories 1-4", set(CATEGORIES) - {5}
    for number, name in CATEGORIES.items():
        yield f"{name} ({number})", {number}


def _cells(values: Outcome) -> Iterator[str]:
    for metric in _COLUMNS.values():
        if metric not in values:
            yield ""
        elif metric == "mrr":
            yield f"{values[metric]:.3f}"
        else:
            yield f"{values[metric]:.0f}" if metric.startswith("tokens") else f"{100 * values[metric]:.1f}"
