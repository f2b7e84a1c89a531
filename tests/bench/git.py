"""Measures if a question that only a commit answers finds it, and how long commits take until they are found.

    python tests/bench/git.py [--commits 1500] [--speed 10000] [--wrong]

`commits.toml` has a made-up history: commits with a reason, each with a question, among others about the same
things. A repository is made of it and indexed as `scrubjay index --git` does, with the bundled model. The baseline
is BM25 over the same texts. With `--speed`, that many commits are indexed and searched by words.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from baselines import Bm25
from figures import grid, header
from kept import embed_all, silent, temporary

from scrubjay.code.git import history, read_commits
from scrubjay.engine.core import Core
from scrubjay.home.repositories import work_tree
from scrubjay.models.requests import SearchDocuments, SearchMemories, parse
from scrubjay.records.ingest.commits import text_of

DATA: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("commits.toml").read_text("utf-8"))
SCOPE = "parcels"


class Made(NamedTuple):
    """A commit of the made-up history."""

    message: str
    files: Sequence[str]


def made(count: int, rand: random.Random) -> list[Made]:
    """Return the reasons in a random order among others, `count` in all."""
    reasons = [Made(f"{each['subject']}\n\n{each['body']}", each["files"]) for each in DATA["reason"]]
    files = sorted({file for each in reasons for file in each.files})
    other = DATA["other"]
    for _ in range(count - len(reasons)):
        things = rand.sample(other["things"], 2)
        text = f"{rand.choice(other['subjects'])}\n\n{rand.choice(other['bodies'])}".format(*things)
        reasons.append(Made(text.strip(), rand.sample(files, rand.randint(1, 3))))
    rand.shuffle(reasons)
    return reasons


def repository(folder: Path, commits: Sequence[Made]) -> None:
    """Make a repository with these commits, by one `git fast-import`."""
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(folder)], check=True)
    lines: list[str] = []
    for at, commit in enumerate(commits):
        text = commit.message
        committer = f"committer Jay <jay@example.org> {1_700_000_000 + 3_600 * at} +0000"
        lines += ["commit refs/heads/main", committer, f"data {len(text.encode())}", text]
        for file in commit.files:
            lines += [f"M 100644 inline {file}", f"data {len(str(at))}", str(at)]
    given = "\n".join([*lines, ""]).encode()
    subprocess.run(["git", "-C", str(folder), "fast-import", "--quiet"], input=given, check=True)


async def indexed(core: Core, folder: Path) -> float:
    """Index the commits of a repository; return the seconds until they are found by words."""
    begun = time.perf_counter()
    await core.ingest.run([str(folder)], scope=SCOPE, source="bench", report=silent, commits="only")
    while await core.writer.catch_up():
        await asyncio.sleep(0.1)
    found = await core.search.documents(parse(SearchDocuments, {"query": "map tiles bucket"}), SCOPE)
    assert found.results
    return time.perf_counter() - begun


async def ranks(core: Core) -> list[tuple[str, list[str], list[str]]]:
    """Return for each question the subjects of the commits that two tools answer with, the best first."""
    rows = []
    for reason in DATA["reason"]:
        asked = parse(SearchDocuments, {"query": reason["ask"], "limit": 5})
        documents = (await core.search.documents(asked, SCOPE)).results
        memories = await core.search.memories(parse(SearchMemories, {"query": reason["ask"]}), SCOPE)
        titles = (
            [str(hit.title).partition(" ")[2] for hit in each] for each in (documents, memories.commits)
        )
        rows.append((reason["subject"], *titles))
    return rows


def by_words(folder: Path) -> list[tuple[str, list[str]]]:
    """Return the same by BM25 alone."""
    work = work_tree(str(folder), "/")
    assert work is not None
    commits = read_commits(work, [each.id for each in history(work, 100_000) or ()]) or []
    index = Bm25([text_of(commit) for commit in commits])
    found = []
    for reason in DATA["reason"]:
        scores = index(reason["ask"])
        best = sorted(range(len(commits)), key=lambda at: -scores[at])[:5]
        found.append((reason["subject"], [commits[at].subject for at in best]))
    return found


def row(name: str, found: Sequence[tuple[str, list[str]]]) -> list[str]:
    places = [titles.index(right) if right in titles else 9 for right, titles in found]
    shares = (sum(place < most for place in places) / len(places) for most in (1, 3, 5))
    return [name, *(f"{100 * share:.0f} %" for share in shares)]


async def measure(options: argparse.Namespace, scratch: Path) -> None:
    rand = random.Random(32)
    repository(scratch / "questions", made(options.commits, rand))
    async with temporary() as core:
        await indexed(core, scratch / "questions")
        await embed_all(core)
        found = await ranks(core)
    baseline = by_words(scratch / "questions")
    print(header())
    print(f"{len(found)} questions, {options.commits:,} commits")
    rows = [
        row("search_documents", [(right, titles) for right, titles, _ in found]),
        row("search_memories", [(right, titles) for right, _, titles in found]),
        row("BM25", baseline),
    ]
    print(grid([("the right commit is", "first", "of three", "of five"), *rows]))
    if options.wrong:
        for right, titles, _ in found:
            if right not in titles:
                print(f"{right!r} is not among {titles}")


async def speed(count: int, scratch: Path) -> None:
    repository(scratch / "many", made(count, random.Random(1)))
    async with temporary() as core:
        processor = time.process_time()
        seconds = await indexed(core, scratch / "many")
        processor = time.process_time() - processor
        again = await indexed(core, scratch / "many")
    print(
        f"{count:,} commits are found by words after {seconds:.1f} s ({processor:.1f} s of processor);",
        end=" ",
    )
    print(f"without new commits it takes {again:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--commits", type=int, default=1_500)
    parser.add_argument("--speed", type=int, default=0, metavar="N")
    parser.add_argument("--wrong", action="store_true", help="print each question without its commit")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if options.speed:
            asyncio.run(speed(options.speed, Path(scratch)))
        else:
            asyncio.run(measure(options, Path(scratch)))


if __name__ == "__main__":
    main()
