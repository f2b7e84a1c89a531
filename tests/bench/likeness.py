"""What a new fact is told about a known one, measured on pairs of sentences as developers keep them: how
often *already known* and *may update* are right, and how many are found. `pairs.tsv` holds the pairs with
what they are; every second one is dev, where the thresholds of `scrubjay.text.likeness` were chosen, the
others are test.

    python tests/bench/likeness.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from scrubjay.encoders import open_encoder
from scrubjay.text import likeness

PAIRS = Path(__file__).with_name("pairs.tsv")
ABOUT = (1.1, 1.2, 1.25, 1.3, 1.35, 1.4, 1.5)
MEANING = (0.75, 0.8, 0.85, 0.9, 0.95)
BY_WORDS = (0.7, 0.74, 0.78, 0.82, 0.86)


class Pair(NamedTuple):
    """Two facts, what the second is to the first (same, update, other), and the cosine of their vectors."""

    label: str
    old: str
    new: str
    cosine: float | None


def pairs() -> list[Pair]:
    """All pairs with their cosines by the bundled model."""
    rows = [line.split("\t") for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    encoder = open_encoder()
    old, new = (encoder.embed_documents([row[side] for row in rows]) for side in (1, 2))
    return [
        Pair(label, one, other, float(a @ b))
        for (label, one, other), a, b in zip(rows, old, new, strict=True)
    ]


def rates(found: Sequence[Pair], told: str, label: str) -> tuple[int, int, int]:
    """(told rightly, told in all, those there are) of one verdict."""
    told_of = [pair for pair in found if likeness.verdict(pair.new, pair.old, pair.cosine) == told]
    return (
        sum(pair.label == label for pair in told_of),
        len(told_of),
        sum(pair.label == label for pair in found),
    )


def line(name: str, halves: Sequence[Sequence[Pair]]) -> str:
    cells = []
    for half in halves:
        for told, label in (("known", "same"), ("update", "update")):
            right, all_told, there = rates(half, told, label)
            cells.append(
                f"{right}/{all_told} {right / all_told if all_told else 1:.2f} | {right}/{there} "
                f"{right / there:.2f}"
            )
    return f"| {name} | {' | '.join(cells)} |"


def swept(name: str, values: Sequence[float], halves: Sequence[Sequence[Pair]]) -> Iterator[str]:
    """A line for each value of one threshold, the others as they are shipped."""
    shipped = getattr(likeness, name)
    for value in values:
        setattr(likeness, name, value)
        yield line(f"{name} = {value}{' (shipped)' if value == shipped else ''}", halves)
    setattr(likeness, name, shipped)


def main() -> None:
    known = pairs()
    halves = [known[0::2], known[1::2]]
    blind = [[pair._replace(cosine=None) for pair in half] for half in halves]
    counts = Counter(pair.label for pair in known)
    print(
        f"{len(known)} pairs: {counts['same']} same, {counts['update']} updates, {counts['other']} of "
        "other matters"
    )
    heads = [
        f"{half}: {told} {what}"
        for half in ("dev", "test")
        for told in ("known", "update")
        for what in ("precision", "recall")
    ]
    print("| thresholds | " + " | ".join(heads) + " |\n|" + "--|" * (len(heads) + 1))
    for name, values, judged in (
        ("ABOUT_THE_SAME", ABOUT, halves),
        ("SAME_MEANING", MEANING, halves),
        ("ABOUT_THE_SAME_BY_WORDS", BY_WORDS, blind),
    ):
        for row in swept(name, values, judged):
            print(row)
    print("\nTold wrongly:")
    for pair in known:
        told = likeness.verdict(pair.new, pair.old, pair.cosine)
        if {"known": "same", "update": "update"}.get(told or "", pair.label) != pair.label:
            print(
                f"  {told}, is {pair.label} ({pair.cosine:.2f}, "
                f"{likeness.similarity(pair.new, pair.old):.2f}): {pair.old} | {pair.new}"
            )


if __name__ == "__main__":
    main()
