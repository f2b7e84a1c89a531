"""Measures what the capture policy `salient` keeps and drops, on messages as people and assistants write
them. `salience.tsv` holds the messages and their labels. The rule was made with the dev half; the test half
was written before it. The baseline keeps every message of at least 40 characters.

    python tests/bench/salience.py
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from figures import grid

from scrubjay.home import capture

MESSAGES = Path(__file__).with_name("salience.tsv")
GOALS = {"keep": 0.95, "drop": 0.80}  # on the test half

Rule = Callable[[str], bool]


class Message(NamedTuple):
    """A row of the file; `label` is keep or drop."""

    half: str
    label: str
    kind: str
    text: str


def messages() -> list[Message]:
    """All messages of the file."""
    with MESSAGES.open(encoding="utf-8", newline="") as file:
        return [Message(**row) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def share(told: Iterable[Message], rule: Rule) -> str:
    """The share of the messages that the rule classifies as labelled."""
    right = [rule(message.text) == (message.label == "keep") for message in told]
    return f"{sum(right) / len(right):.0%}"


def lines(rules: dict[str, Rule]) -> Iterator[list[str]]:
    """The table: for each half its labels, each with its kinds."""
    yield ["half", "label", "kind", "messages", *rules]
    groups: dict[tuple[str, str, str], list[Message]] = {}
    for message in messages():
        for kind in ("all", message.kind):
            groups.setdefault((message.half, message.label, kind), []).append(message)
    for names, told in groups.items():
        yield [*names, str(len(told)), *(share(told, rule) for rule in rules.values())]


def main() -> None:
    """Print the table and the goals."""
    print(grid(list(lines({"40 characters": lambda text: len(text) >= 40, "now": capture.is_salient}))))
    print("Goals on the test half:", ", ".join(f"{label} {goal:.0%}" for label, goal in GOALS.items()))


if __name__ == "__main__":
    main()
