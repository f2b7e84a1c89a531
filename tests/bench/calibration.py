"""Measures what relevance and a threshold mean: how often hits of each band are right, what a threshold keeps
and silences, and how well other numbers would tell a question with an answer in the store from one without.
Runs retrieval in this process.

    python tests/bench/calibration.py --data locomo10.json [--conversations 1,3] [--homes FOLDER] [--words]
    [--fit] [--json FILE]

`--homes` keeps the filled homes for the next run. `--fit` prints the constants of
`scrubjay.search.retrieval.relevance` that the dev half asks for, of LoCoMo and of the projects;
with `--words` those for a store without a model. Only numbers are printed and written, never what was said.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
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

from scrubjay.search.retrieval.relevance import (
    BY_WORDS,
)

HALVES = ("dev", "test")
KINDS = (
    *("answered", "foreign", "adversarial", "developer answered", "developer foreign", "work prompts"),
    *("project answered", "project absent", "project foreign"),
)
# Of separation and of the fit: kinds with an answer and without, and their weights in the fit, where those of
# a kind share its weight. The projects count more, because developers are asked about more than friends are.
SETS = {
    "LoCoMo": (("answered",), ("foreign",), 0.2),
    "projects": (("project answered",), ("project absent", "project foreign"), 0.3),
    "developer": (("developer answered",), ("developer foreign",), 0.0),
}
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
        print("\n" + fit(asked, words_only=options.words))
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
    """The area under the ROC curve of each signal, for questions with an answer against those without."""
    columns = [(name, half) for name in ("LoCoMo", "projects") for half in HALVES]
    columns.append(("developer", "developer"))
    names = (name if name == half else f"{name}, {half}" for name, half in columns)
    lines = [("signal: AUC of answered against foreign and absent", *names)]
    pairs = [_pair(asked, name, half) for name, half in columns]
    for signal in NAMES:
        values = [[[each.signals[signal] for each in some] for some in pair] for pair in pairs]
        cells = (f"{auc(*pair):.3f}" if all(pair) else "" for pair in values)
        lines.append((signal, *cells))
    return grid(lines)


def _pair(asked: Sequence[Judged], name: str, half: str) -> tuple[list[Judged], list[Judged]]:
    """Questions of a set with an answer, and without."""
    good, bad, _ = SETS[name]
    own = [each for each in asked if each.half == half]
    return [each for each in own if each.kind in good], [each for each in own if each.kind in bad]


def auc(greater: Sequence[float], smaller: Sequence[float]) -> float:
    """How often a value of the first kind is above one of the second; a tie is half.

    >>> auc([2.0, 3.0], [1.0, 2.0])
    0.875
    """
    difference = np.subtract.outer(np.array(greater), np.array(smaller))
    return float(np.mean(difference > 0) + np.mean(difference == 0) / 2)


def fit(asked: Sequence[Judged], *, words_only: bool) -> str:
    """The constants of relevance that the dev half asks for, each with the name it has there."""
    pairs = [(*_pair(asked, name, "dev"), SETS[name][2]) for name in ("LoCoMo", "projects")]
    some = [each for good, bad, _ in pairs for each in (*good, *bad)]
    has = np.concatenate([np.repeat([1.0, 0.0], [len(good), len(bad)]) for good, bad, _ in pairs])
    weights = np.concatenate(
        [np.full(len(each), weight / len(each)) for *pair, weight in pairs for each in pair]
    )
    head = f"fitted on {len(some)} questions of the dev half"
    over = np.array([[each.evidence / (BY_WORDS if words_only else 1.0)] for each in some])
    steepness, offset = map(float, logistic(over, has, weights))
    curve = f"STEEPNESS {steepness:.2f}, MIDDLE {-offset / steepness:.3f}"
    if words_only:
        return f"{head}: {', '.join(f'WORDS_{part}' for part in curve.split(', '))}"
    right = _of_each(pairs)
    shares = [
        f"{name}, {half}: AUC {auc(*values):.3f}"
        for name, half in ((name, half) for name in ("LoCoMo", "projects") for half in HALVES)
        if all(values := [_chances(each, steepness, offset) for each in _pair(asked, name, half)])
    ]
    return "\n".join(
        (
            head + ":",
            _named("RIGHT_BEHIND RIGHT_COSINE RIGHT_TOKENS RIGHT_COVERAGE RIGHT_LATE RIGHT_OFFSET", right),
            curve,
            f"chances by evidence: {'; '.join(shares)}",
            _limits(asked, steepness, offset),
        )
    )


def _chances(some: Sequence[Judged], steepness: float, offset: float) -> list[float]:
    return [1 / (1 + math.exp(-steepness * each.evidence - offset)) for each in some]


def _of_each(pairs: Iterable[tuple[list[Judged], list[Judged], float]]) -> np.ndarray:
    """Fit whether a candidate is right, over the candidates of all questions with an answer."""
    rows, right, weights = [], [], []
    for good, _, weight in pairs:
        seen = [row for question in good for row in question.seen]
        rows += [(row.behind, row.cosine, np.nan_to_num(row.tokens), row.coverage, row.late) for row in seen]
        right += [float(row.right) for row in seen]
        weights += [weight / len(seen)] * len(seen)
    return logistic(np.array(rows), np.array(right), np.array(weights))


def _limits(asked: Sequence[Judged], steepness: float, offset: float) -> str:
    """What the limits STRONG and WEAK would do, of both halves."""
    limits = (0.03, 0.05, 0.1, 0.3, 0.4, 0.5, 0.6)
    lines = [("chance, both halves", "n", *(f"below {limit:g}" for limit in limits))]
    for kind in dict.fromkeys(
        kind for good, bad, weight in SETS.values() if weight for kind in (*good, *bad)
    ):
        chances = np.array(_chances([each for each in asked if each.kind == kind], steepness, offset))
        shares = (f"{100 * np.mean(chances < limit):.1f}" for limit in limits)
        lines.append((kind, str(len(chances)), *shares))
    return grid(lines)


def _named(names: str, values: np.ndarray) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in zip(names.split(), values, strict=True))


def logistic(rows: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weight of each column in the log odds of `y`, and last their offset, by Newton's method."""
    design, fitted = np.column_stack([rows, np.ones(len(rows))]), np.zeros(rows.shape[1] + 1)
    for _ in range(50):
        chance = 1 / (1 + np.exp(-design @ fitted))
        curvature = design.T @ (design * (weights * chance * (1 - chance))[:, None])
        fitted += np.linalg.solve(curvature, design.T @ (weights * (y - chance)))
    return fitted


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
