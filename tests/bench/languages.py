"""Compares models on made-up projects: right first and among five hits, and the processor time of a search.

    python tests/bench/languages.py --homes FOLDER [--models bundled,multilingual] [--projects egret,hoopoe]

The two usual projects are written in German and in seven languages; questions of the kind `cross` are asked in
another language than their answer. A home is filled and embedded once and reused by the next run.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
import time
from collections import defaultdict
from pathlib import Path

import projects
from kept import SCOPE, opened, said_by

from scrubjay.models.requests import SearchMemories

_HITS = 5


async def _places(project: projects.Project, homes: Path, model: str) -> dict[str, list[int]]:
    """Return the places of the right hits by kind of question, _HITS if none is among them; print the times."""
    places, took = defaultdict(list), []
    said, ids = said_by(project.records, SCOPE)
    async with opened(homes, f"{model} {project.name}", said, model) as core:
        for question in project.questions:
            if question.has_answer and question.kind != "document":
                begun = time.process_time()
                found = await core.search.recall(SearchMemories(query=question.ask, top_k=_HITS), SCOPE)
                took.append(time.process_time() - begun)
                right = {ids[key] for key in question.right}
                place = [at for at, hit in enumerate(found.results) if hit.id in right]
                places[question.kind].append(min(place, default=_HITS))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    median = 1e3 * sorted(took)[len(took) // 2]
    print(f"{model}, {project.name}: {median:.1f} ms of processor a search; peak so far {peak} MiB")
    return places


def _share(places: list[int], most: int) -> str:
    return f"{100 * sum(place < most for place in places) / len(places):.1f}"


def main() -> int:
    """Print one line for each model, project and kind of question."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--homes", type=Path, required=True, help="where filled homes are kept")
    parser.add_argument("--models", default="bundled,multilingual")
    parser.add_argument("--projects", default="egret,hoopoe")
    options = parser.parse_args()
    for model in options.models.split(","):
        every: dict[str, list[int]] = defaultdict(list)
        for name in options.projects.split(","):
            project = projects.load(projects.FOLDER / f"{name}.toml")
            found = asyncio.run(_places(project, options.homes, model))
            for kind, places in [
                *found.items(),
                ("all", [place for some in found.values() for place in some]),
            ]:
                print(f"  {kind} ({len(places)}): {_share(places, 1)} / {_share(places, _HITS)}", flush=True)
                every[kind] += places
        for kind, places in every.items():
            print(
                f"{model}, {kind} ({len(places)}): {_share(places, 1)} / {_share(places, _HITS)}", flush=True
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
