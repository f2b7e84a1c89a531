"""Measures what relevance and a threshold mean: how often hits of each band are right, what a threshold keeps
and silences, and how well other numbers would tell a question with an answer in the store from one without.
Runs retrieval in this process.

    python tests/bench/calibration.py --data locomo10.json [--conversations 1,3] [--homes FOLDER] [--words]
    [--fit] [--json FILE]

`--homes` keeps the filled homes for the next run. `--fit` prints the constants of
`scrubjay.search.retrieval.relevance` that the dev half asks for;
with `--words` those for a store without a model. Only numbers are printed and written, never what was said.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from figures import grid, header
from judged import HITS, Judged, judged
from locomo import load
from signals import NAMES

from scrubjay.search.retrieval.relevance import BY_WORDS

HALVES = ("dev", "test")
KINDS = ("answered", "foreign", "adversarial", "developer answered", "developer foreign", "work prompts")
THRESHOLDS = (0.3, 0.5, 0.6, 0.7, 0.8)
BANDS = [(low / 10, (low + 1) / 10) for low in range(10)]


def main() -> int:
    """Measure what the options choose."""
    parser = _parser()
    options = parser.parse_args()
    if not options.data.is_file():
        parser.error(f"there is no file {options.data}; give the published locomo10.json")
    every = load(options.data)
    chosen = [number - 1 for number in options.conversations or range(1, len(every) + 1)]
    about = header()
    with tempfile.TemporaryDirectory(prefix="scrubjay-calibration-") as folder:
        asked = asyncio.run(_all(every, chosen, options.homes or Path(folder), words_only=options.words))
    print("\n".join(f"{name:>9}: {value}" for name, value in about.items()), end="\n\n")
    print(*(bands(asked, half) for half in HALVES), thresholds(asked), separation(asked), sep="\n\n")
    if options.fit:
        print("\n" + fit([each for each in asked if each.half == "dev"], words_only=options.words))
    if options.json:
        options.json.write_text(
            json.dumps({"about": about, "questions": [asdict(each) for each in asked]}), encoding="utf-8"
        )
    return 0


async def _all(every: Sequence, chosen: Sequence[int], homes: Path, *, words_only: bool) -> list[Judged]:
    return [each async for each in judged(every, chosen, homes, words_only=words_only)]


def bands(asked: Iterable[Judged], half: str) -> str:
    """How often what lies in a band of relevance was right, on one half."""
    own, foreign = (
        [each for each in asked if (each.kind, each.half) == (kind, half)] for kind in ("answered", "foreign")
    )
    hits = [pair for each in own for pair in zip(each.relevance, each.right, strict=True)]
    columns = (
        [(each.first, each.answered) for each in (*own, *foreign)],
        [(each.first, each.right[0]) for each in own if each.right],
        hits,
    )
    lines = [
        (
            f"relevance, {half}",
            "first hit, both kinds: answer among ten",
            "first hit, answered: right",
            "all hits, answered: right",
        )
    ]
    lines += [
        (f"{low:.1f}-{high:.1f}", *(_share(column, low, high) for column in columns)) for low, high in BANDS
    ]
    return grid(lines)


def _share(pairs: Iterable[tuple[float, bool]], low: float, high: float) -> str:
    inside = [right for value, right in pairs if low <= value < high or value == high == 1.0]
    return f"{100 * np.mean(inside):.0f} % of {len(inside)}" if inside else ""


def thresholds(asked: Sequence[Judged]) -> str:
    """Of questions with an answer, how often a right hit still comes; of all others, how often
    nothing does.
    """
    lines = [("questions", "n", "", *(f"{threshold:.1f}" for threshold in (0.0, *THRESHOLDS)))]
    for kind in KINDS:
        for half in dict.fromkeys(each.half for each in asked if each.kind == kind):
            some = [each for each in asked if (each.kind, each.half) == (kind, half)]
            with_answer = kind.endswith("answered")
            says = "a right hit comes" if with_answer else "nothing comes"
            name = kind if half == "developer" else f"{kind}, {half}"
            shares = (
                np.mean([each.right_kept(level) if with_answer else not each.kept(level) for each in some])
                for level in (0.0, *THRESHOLDS)
            )
            lines.append((name, str(len(some)), says, *(f"{100 * share:.1f}" for share in shares)))
            if with_answer:
                counts = (np.mean([each.kept(level) for each in some]) for level in (0.0, *THRESHOLDS))
                lines.append(("", "", f"hits, of {HITS}", *(f"{count:.1f}" for count in counts)))
    return grid(lines)


def separation(asked: Sequence[Judged]) -> str:
    """The area under the ROC curve of each signal, for answered against foreign questions."""
    lines = [("signal: AUC of answered against foreign", *HALVES, "developer")]
    for name in NAMES:
        cells = []
        for half in (*HALVES, "developer"):
            with_answer, without = (
                [each.signals[name] for each in asked if each.half == half and each.kind.endswith(kind)]
                for kind in ("answered", "foreign")
            )
            cells.append(f"{auc(with_answer, without):.3f}" if with_answer and without else "")
        lines.append((name, *cells))
    return grid(lines)


def auc(greater: Sequence[float], smaller: Sequence[float]) -> float:
    """How often a value of the first kind is above one of the second; a tie is half.

    >>> auc([2.0, 3.0], [1.0, 2.0])
    0.875
    """
    difference = np.subtract.outer(np.array(greater), np.array(smaller))
    return float(np.mean(difference > 0) + np.mean(difference == 0) / 2)


def fit(asked: Sequence[Judged], *, words_only: bool) -> str:
    """STEEPNESS and MIDDLE of the logistic curve that gives the share of questions whose hits held the
    answer, over the evidence.
    """
    some = [each for each in asked if each.kind in ("answered", "foreign")]
    over = np.array([each.evidence for each in some]) / (BY_WORDS if words_only else 1.0)
    steepness, offset = logistic(over, np.array([each.answered for each in some], dtype=float))
    of = "coverage" if words_only else "evidence"
    return (
        f"fitted on {len(some)} questions of the dev half, over {of}: steepness {steepness:.2f}, middle "
        f"{-offset / steepness:.3f}"
    )


def logistic(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Slope and offset of the logistic regression of `y` on `x`, by Newton's method."""
    design, weights = np.column_stack([x, np.ones_like(x)]), np.zeros(2)
    for _ in range(50):
        chance = 1 / (1 + np.exp(-design @ weights))
        curvature = design.T @ (design * (chance * (1 - chance))[:, None])
        weights += np.linalg.solve(curvature, design.T @ (y - chance))
    return float(weights[0]), float(weights[1])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Measure what relevance and a threshold mean.")
    parser.add_argument(
        "--data", type=Path, required=True, metavar="FILE", help="locomo10.json, as published"
    )
    parser.add_argument("--conversations", type=_list, metavar="1,3", help="only these, counted from 1")
    parser.add_argument(
        "--homes",
        type=Path,
        metavar="FOLDER",
        help="keep the filled homes there, and use those that are there",
    )
    parser.add_argument(
        "--words", action="store_true", help="search by words alone, as if there were no model"
    )
    parser.add_argument("--fit", action="store_true", help="fit the constants of relevance on the dev half")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers of every question there")
    return parser


def _list(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
