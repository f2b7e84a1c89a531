"""Compares models on made-up projects: right first and among five hits, answers that are called doubtful, and
the processor time of a search.

    python tests/bench/languages.py --homes FOLDER [--models bundled,multilingual] [--projects facts,egret,hoopoe]

`facts` are the 60 in seven languages of `languages.tsv`, each with a question in its language, the same in another
language (the kind `cross`), and a plausible question that no fact answers; every second one is for testing. egret
is written in German, hoopoe in seven languages. A home is filled and embedded once and reused by the next run.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import projects
from figures import percent
from kept import SCOPE, opened, said_by

from scrubjay.models.requests import SearchMemories

_HITS = 5
_FACTS = Path(__file__).with_name("languages.tsv")
_THEN, _NOW = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 20, tzinfo=UTC)
_BANDS = ("strong", "weak", "none")


def facts() -> projects.Project:
    """Return the facts in seven languages; a question's kind begins with its half, or names its language."""
    lines = _FACTS.read_text("utf-8").splitlines()[1:]
    rows = [(f"fact{number}", *line.split("\t")) for number, line in enumerate(lines)]
    records = [projects.Record("memory", key, _THEN, {"content": fact}) for key, _, _, fact, *_ in rows]
    return projects.Project("facts", _NOW, tuple(records), tuple(q for row in rows for q in _asked(*row)))


def _asked(
    key: str, half: str, language: str, _: str, plain: str, cross: str, absent: str
) -> Iterator[projects.Question]:
    yield projects.Question(plain, (key,), (key,), half, f"plain {language}")
    yield projects.Question(cross, (key,), (key,), half, "cross")
    yield projects.Question(absent, (), (), half, f"plausible {language}")


def _project(name: str) -> projects.Project:
    return facts() if name == "facts" else projects.load(projects.FOLDER / f"{name}.toml")


async def _places(
    project: projects.Project, homes: Path, model: str
) -> tuple[dict[str, list[int]], dict[str, list[str]]]:
    """Return the places of the right hits by kind of question, _HITS if none is among them, and the confidence of
    the default answers; print the times.
    """
    places, bands, took = defaultdict(list), defaultdict(list), []
    said, ids = said_by(project.records, SCOPE)
    async with opened(homes, f"{model} {project.name}", said, model) as core:
        for question in project.questions:
            if question.kind in ("document", "time", "small"):
                continue
            kinds = [question.kind, f"{question.half} {'answered' if question.has_answer else 'unanswered'}"]
            usual = await core.search.recall(SearchMemories(query=question.ask), SCOPE)
            for kind in kinds:
                bands[kind].append(usual.confidence)
            if question.has_answer:
                begun = time.process_time()
                found = await core.search.recall(SearchMemories(query=question.ask, top_k=_HITS), SCOPE)
                took.append(time.process_time() - begun)
                right = {ids[key] for key in question.right}
                place = [at for at, hit in enumerate(found.results) if hit.id in right]
                for kind in kinds:
                    places[kind].append(min(place, default=_HITS))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    median = 1e3 * sorted(took)[len(took) // 2]
    print(f"{model}, {project.name}: {median:.1f} ms of processor a search; peak so far {peak} MiB")
    return places, bands


def _print(name: str, places: dict[str, list[int]], bands: dict[str, list[str]]) -> None:
    """Print, by kind, the share of right records first / among five, and of strong / weak / empty answers."""
    for kind, said in sorted(bands.items()):
        found = (
            " / ".join(percent(at < most for at in places[kind]) for most in (1, _HITS)) + ", "
            if places.get(kind)
            else ""
        )
        called = " / ".join(f"{100 * said.count(band) / len(said):.0f}" for band in _BANDS)
        print(f"{name}, {kind} ({len(said)}): {found}{called}", flush=True)


def main() -> int:
    """Print one line for each model, project and kind of question."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--homes", type=Path, required=True, help="where filled homes are kept")
    parser.add_argument("--models", default="bundled,multilingual")
    parser.add_argument("--projects", default="facts,egret,hoopoe")
    options = parser.parse_args()
    for model in options.models.split(","):
        every: tuple[dict[str, list[int]], dict[str, list[str]]] = (defaultdict(list), defaultdict(list))
        for name in options.projects.split(","):
            found = asyncio.run(_places(_project(name), options.homes, model))
            _print(f"{model}, {name}", *found)
            for all_of, own in zip(every, found, strict=True):
                for kind, values in own.items():
                    all_of[kind] += values
        _print(f"{model}, all", *every)
    return 0


if __name__ == "__main__":
    sys.exit(main())
