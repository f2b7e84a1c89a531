"""Measures how a new fact is classified against a known one, on pairs of sentences as developers write them:
how often the verdict is right, per kind of pair. `pairs.tsv` holds the pairs: the verdict, both sentences,
their kind and their half. The tables and thresholds of `scrubjay.text.likeness` and
`scrubjay.text.statements` were made on the dev half; the test half was written before them, by the same
author. 175 of its 181 were right when it was first looked at; two of the others were then mended. A pair may
have two right words: a/b.

    python tests/bench/likeness.py           # the figures, and which pairs of the dev half are misclassified
    python tests/bench/likeness.py --test    # which of the test half are; do not tune by them
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from figures import grid

from scrubjay.encoders import open_encoder
from scrubjay.text import likeness

PAIRS = Path(__file__).with_name("pairs.tsv")
HALVES = ("dev", "test")


class Pair(NamedTuple):
    """Two facts, the right verdict, their kind and half, and the cosine of their vectors."""

    label: str
    old: str
    new: str
    kind: str
    half: str
    cosine: float


Rule = Callable[[Pair], str]


def pairs() -> list[Pair]:
    """All pairs with their cosines by the bundled model."""
    rows = [line.split("\t") for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    encoder = open_encoder()
    old, new = (encoder.embed_documents([row[side] for row in rows]) for side in (1, 2))
    return [
        Pair(label, one, other, kind, half, float(a @ b))
        for (label, one, other, kind, half), a, b in zip(rows, old, new, strict=True)
    ]


def is_right(rule: Rule, pair: Pair) -> bool:
    return rule(pair) in pair.label.split("/")


def ours(pair: Pair) -> str:
    return likeness.verdict(pair.new, pair.old, pair.cosine) or "none"


def by_words(pair: Pair) -> str:
    """Classify without a model."""
    return likeness.verdict(pair.new, pair.old, None) or "none"


def thresholds(known: float, update: float, similar: float) -> Rule:
    """Cosine and wording added, with a word from each threshold on."""

    def rule(pair: Pair) -> str:
        near = pair.cosine + likeness.similarity(pair.new, pair.old)
        if near >= known:
            return "known"
        return "update" if near >= update else "similar" if near >= similar else "none"

    return rule


def baseline(dev: Sequence[Pair]) -> Rule:
    """The best thresholds of the dev half."""
    steps = [1 + step / 20 for step in range(21)]
    rules = [thresholds(*each) for each in product(steps, repeat=3) if each[0] >= each[1] >= each[2]]
    return max(rules, key=lambda rule: sum(is_right(rule, pair) for pair in dev))


def share(rule: Rule, found: Sequence[Pair]) -> str:
    right = sum(is_right(rule, pair) for pair in found)
    return f"{right}/{len(found)} {100 * right / max(1, len(found)):.0f} %"


def table(known: Sequence[Pair]) -> Iterator[list[str]]:
    """A line for each kind, and one for all."""
    rules = {
        "thresholds": baseline([pair for pair in known if pair.half == "dev"]),
        "ours": ours,
        "ours, words alone": by_words,
    }
    yield ["kind", *(f"{half}: {name}" for half in HALVES for name in rules)]
    for kind in [*dict.fromkeys(pair.kind for pair in known), "all"]:
        cells = [
            share(rule, [pair for pair in known if pair.half == half and kind in (pair.kind, "all")])
            for half in HALVES
            for rule in rules.values()
        ]
        yield [kind, *cells]


def main() -> None:
    known = pairs()
    print(grid(list(table(known))))
    half = "test" if "--test" in sys.argv[1:] else "dev"
    print(f"\nTold wrongly, of the {half} half:")
    for pair in known:
        if pair.half == half and not is_right(ours, pair):
            near = f"{pair.cosine:.2f}, {likeness.similarity(pair.new, pair.old):.2f}"
            print(f"  {ours(pair)}, is {pair.label} ({near}): {pair.old} | {pair.new}")


if __name__ == "__main__":
    main()
