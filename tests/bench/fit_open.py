"""Fits the weights by which a sentence of an answer counts as left open, and writes them to their file.

    python tests/bench/fit_open.py [--write]

Needs scipy in addition to `.[test]`. Fitted on the sessions of the half `dev` (`told.toml`, `told_open.toml`) and on the single
sentences of `open.tsv`, which were written for this and have no place in a session. Prints how many points are found and how many
shown are wrong, with all weights and left out ("cv": a project, or every fifth of the short sessions, is judged by weights
fitted without it), which is what to look at while choosing.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import projects
import told
from fit import logistic, write

from scrubjay.text import open_points
from scrubjay.text.titles import Exchange

WEIGHTS = open_points.FILE
TIGHT = 1e-3  # strength of the penalty on large weights
THRESHOLD = -0.25  # log odds from which a sentence is shown
ROUNDS = 4  # of choosing the sentence that stands for a point


@dataclass(frozen=True)
class Row:
    """One sentence, its evidence, and the labelled points that it names."""

    group: str
    evidence: dict[str, float]
    points: Sequence[str]
    is_allowed: bool = False


def labelled() -> dict[str, list[told.Session]]:
    """Return the sessions to fit on, by the group that is left out together."""
    groups: dict[str, list[told.Session]] = {}
    for number, session in enumerate(told.labelled("dev")):
        groups.setdefault(session.project or f"short {number % 5}", []).append(session)
    return groups


def rows(groups: dict[str, list[told.Session]]) -> list[Row]:
    """Gather the sentences of the sessions, and those of `open.tsv`."""
    found = []
    for group, sessions in groups.items():
        for session in sessions:
            points, allowed = session.labels.get("open", []), session.labels.get("may", [])
            for point in open_points.candidates(session.exchanges, _unread):
                if point.evidence:
                    named = [f"{session.name} {each}" for each in points if told.names(point.text, each)]
                    is_allowed = any(told.names(point.text, each) for each in allowed)
                    found.append(Row(group, point.evidence | {"alone": 0.0}, named, is_allowed))
    for line in Path(__file__).with_name("open.tsv").read_text("utf-8").splitlines():
        label, text = line.split("\t")
        for point in open_points.candidates([Exchange("", text)], _unread):
            if point.evidence:
                evidence = point.evidence | {"end": 0.0, "alone": 1.0}
                found.append(Row("", evidence, [text] if label == "open" else []))
    return found


def _unread(*_: object) -> list[tuple[str, float]]:
    return []  # the sum is fitted alone


def fitted(every: Sequence[Row]) -> dict[str, float]:
    """Fit the weights; of the sentences that name a point, the one that looks most open stands for it."""
    weights = dict.fromkeys(every[0].evidence, 1.0)
    for _ in range(ROUNDS):
        best: dict[str, Row] = {}
        for row in every:
            for point in row.points:
                if point not in best or _odds(weights, row) > _odds(weights, best[point]):
                    best[point] = row
        chosen = {id(row) for row in best.values()}
        used = [row for row in every if id(row) in chosen or not (row.points or row.is_allowed)]
        weights = logistic([row.evidence for row in used], [id(row) in chosen for row in used], tight=TIGHT)
    weights["offset"] -= THRESHOLD
    del weights["alone"]
    return {name: round(weight, 3) for name, weight in weights.items()}


def _odds(weights: dict[str, float], row: Row) -> float:
    return sum(weights.get(name, 0.0) * value for name, value in row.evidence.items())


def judged(sessions: Sequence[told.Session], weights: dict[str, float], counts: told.Counts) -> None:
    """Count what is found in some sessions by these weights."""
    open_points.WEIGHTS = weights
    for session in sessions:
        counts.add(session.name, told.ours(session.exchanges), session.exchanges, session.labels)


def main() -> int:
    """Fit, print and, if asked to, write the weights."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"replace {WEIGHTS.name}")
    options = parser.parse_args()
    groups = labelled()
    every = rows(groups)
    weights = fitted(every)
    names = {path.stem for path in projects.FOLDER.glob("*.toml")}
    for label, are_projects in (("projects", True), ("short", False)):
        whole, cross = told.Counts(), told.Counts()
        for group, sessions in groups.items():
            if (group in names) == are_projects:
                judged(sessions, weights, whole)
                judged(sessions, fitted([row for row in every if row.group != group]), cross)
        print(f"{label}: found, wrong", *whole.cells()[2:], "cv", *cross.cells()[2:])
    print(dict(sorted(weights.items(), key=lambda each: -each[1])))
    if options.write:
        write(WEIGHTS, "python tests/bench/fit_open.py --write", "dev", {"weights": weights})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
