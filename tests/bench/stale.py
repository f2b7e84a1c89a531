"""Measures how often a mark is right: claims about code at one commit of a real history, judged at a later one.

Each claim is a sentence that names a file, a definition, or both. Its truth comes from Python's own parser
(`ast`, which knows no comments and no white space) and from git: the contents of both commits and `git diff -M`
between them. The baseline marks a claim when its file changed at all.

    python tests/bench/stale.py [REPOSITORY] [--pairs 60] [--claims 20] [--wrong] [--typescript FOLDER]

FOLDER is that of the npm package `typescript`: its compiler tells the truth about JavaScript and TypeScript.

With `--cost TURNS` it measures instead what anchors cost in a home with so many turns, a third of which name code of
the repository and a fifth have a failed command: the share of a search, of a write's processor time, and their disk.
Texts are embedded by hashing, which costs nothing, or with the default model.

    python tests/bench/stale.py [REPOSITORY] --cost 10000 [--searches 100] [--model]
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from figures import percent, spread
from hashing_encoder import HashingEncoder
from said import embedded

from scrubjay.code.anchors import RecordText, anchors
from scrubjay.code.git import Tree
from scrubjay.code.marks import Marker
from scrubjay.engine.core import Core, open_core
from scrubjay.home.paths import Home, open_home
from scrubjay.home.repositories import head_of, work_tree
from scrubjay.home.scopes import scope_of
from scrubjay.home.settings import Settings
from scrubjay.models.envelopes import Envelope, envelope
from scrubjay.models.records import Turn
from scrubjay.models.requests import RecordTurn, SearchMemories, parse
from scrubjay.search import commands

T = TypeVar("T")

HERE = Path(__file__).resolve().parents[2]
IDLE_SECONDS = 5.0  # longer than the pause after which sessions are summarised
TOGETHER = 64  # writes that wait for one commit
_SCRIPTS: dict[Path, dict[str, dict[str, str]]] = defaultdict(dict)  # by folder and blob
SEED = 32
DISTANCES = (1, 3, 10, 30, 100, 300)  # commits between the two
SENTENCES = {
    "file": (
        "We keep all of it in {path} for now.",
        "See {path}, it decides this.",
        "The rule is in `{path}`.",
    ),
    "both": (
        "`{name}` in {path} retries twice.",
        "{path}: `{name}()` must stay quick.",
        "Do not call `{name}` from elsewhere than {path}.",
    ),
    "name": ("`{name}` is the only place that does it.", "We decided that `{name}()` raises."),
}


class Claim(NamedTuple):
    text: str
    path: str
    name: str | None
    truth: str  # holds, changed, gone, or "moved " and the path


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, errors="replace").stdout


class Commit:
    """The files of a commit, by path: their blobs; and where each name is defined."""

    def __init__(self, folder: Path, name: str, typescript: str | None) -> None:
        lines = git(folder, "ls-tree", "-r", name).splitlines()
        rows = [(line.split("\t")[1], line.split()) for line in lines]
        self.blobs = {path: words[2] for path, words in rows if words[1] == "blob" and words[0] != "120000"}
        self.defined = {
            path: defined(folder, blob) for path, blob in self.blobs.items() if path.endswith(".py")
        }
        if typescript:
            self.defined |= scripts(folder, self.blobs, typescript)
        self.homes: dict[str, list[str]] = {}
        for path, found in self.defined.items():
            for name in found:
                self.homes.setdefault(name, []).append(path)


@cache
def defined(folder: Path, blob: str) -> Mapping[str, str]:
    """Return the functions and classes of a file with their syntax trees, by qualified names."""
    try:
        found: dict[str, str] = {}
        for name, node in _inside(ast.parse(git(folder, "cat-file", "blob", blob))):
            found[name] = found.get(name, "") + ast.dump(node)
        return found
    except (SyntaxError, ValueError):
        return {}


def scripts(folder: Path, blobs: Mapping[str, str], typescript: str) -> dict[str, Mapping[str, str]]:
    """Return the same of the files in JavaScript and TypeScript, by path."""
    known = _SCRIPTS[folder]
    endings = {path: path.rpartition(".")[2].lstrip("cm") for path in blobs}
    some = {path: blob for path, blob in blobs.items() if endings[path] in ("js", "jsx", "ts", "tsx")}
    unknown = {blob: endings[path] for path, blob in some.items() if blob not in known}
    files = [(blob, ending, git(folder, "cat-file", "blob", blob)) for blob, ending in unknown.items()]
    command = ["node", str(Path(__file__).with_name("definitions.cjs")), str(Path(typescript).resolve())]
    done = subprocess.run(command, input=json.dumps(files), check=True, capture_output=True, text=True)
    known |= json.loads(done.stdout)
    return {path: known[blob] for path, blob in some.items()}


def _inside(node: ast.AST, above: str = "") -> Iterator[tuple[str, ast.AST]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield f"{above}{child.name}", child
            if isinstance(child, ast.ClassDef):
                yield from _inside(child, f"{above}{child.name}.")


def truth(old: Commit, new: Commit, renamed: Mapping[str, str], path: str, name: str | None) -> str:
    if name is None:
        if path in new.blobs:
            return "holds" if new.blobs[path] == old.blobs[path] else "changed"
        return f"moved {renamed[path]}" if path in renamed else "gone"
    there = new.defined.get(path, {}).get(name)
    if there is not None:
        return "holds" if there == old.defined[path][name] else "changed"
    if name in new.defined.get(renamed.get(path, ""), {}) and path not in new.blobs:
        return f"moved {renamed[path]}"
    homes = [home for home in new.homes.get(name, ()) if home != path]
    same = [home for home in homes if new.defined[home][name] == old.defined[path][name]]
    homes = same or [home for home in homes if home not in old.homes[name]]
    return f"moved {homes[0]}" if len(homes) == 1 else "gone"


def claims(
    old: Commit, new: Commit, renamed: Mapping[str, str], rand: random.Random, count: int
) -> list[Claim]:
    """Return claims, half of them about files that changed."""
    touched = [path for path in old.blobs if new.blobs.get(path) != old.blobs[path]]
    made: list[Claim] = []
    for at in range(count * 20):
        path = rand.choice(touched if at % 2 and touched else list(old.blobs))
        kind = rand.choice(("file", "both", "both", "name"))
        name = None
        if kind != "file":
            names = [
                each for each in old.defined.get(path, {}) if not each.rpartition(".")[2].startswith("__")
            ]
            # a bare name means something only if one file defines it
            names = [each for each in names if kind == "both" or len(old.homes[each]) == 1]
            if not names:
                continue
            name = rand.choice(names)
        elif "/" not in path and "." not in path:
            continue
        text = rand.choice(SENTENCES[kind]).format(path=path, name=name)
        made.append(Claim(text, path, name, truth(old, new, renamed, path, name)))
        if len(made) == count:
            break
    return made


def judged(folder: Path, old: str, texts: list[str]) -> tuple[list[str], list[float]]:
    work = work_tree(str(folder), "/")
    assert work is not None
    noted = anchors(Tree(work, old), old, None, [RecordText(text) for text in texts])
    head = head_of(work)
    assert head is not None
    marker, found, times = Marker(), [], []
    for anchor, text in zip(noted, texts, strict=True):
        mark = marker.mark(work, head, anchor, text)
        is_moved = mark is not None and mark.now and mark.kind != "branch"
        found.append("holds" if mark is None else f"moved {mark.now}" if is_moved else mark.kind)
    for at in range(0, len(texts) - 9, 10):  # ten hits, when nothing changed since the last search
        begun = time.perf_counter()
        for anchor, text in zip(noted[at : at + 10], texts[at : at + 10], strict=True):
            marker.mark(work, head, anchor, text)
        times.append((time.perf_counter() - begun) * 1000)
    return found, times


async def cost(folder: Path, turns: int, searches: int, rand: random.Random, *, hashing: bool) -> None:
    """Print the cost of anchors, and of looking for a known error."""
    home = open_home(str(folder / "home"))
    project = folder / "clone"
    scope = scope_of(home, str(project))
    assert scope is not None
    model = (lambda *_, **__: HashingEncoder()) if hashing else None
    core = await open_core(home, Settings(), lambda: datetime.now(UTC), model)
    made = list(_turns(project, turns, rand))
    try:
        begun, ids = _processor(), []
        for at in range(0, turns, TOGETHER):
            many = await asyncio.gather(
                *(core.write(_written(each, scope)) for each in made[at : at + TOGETHER])
            )
            ids += [str(each.id) for each in many]
        await embedded(core)
        await _noted(core)
        spent = (_processor() - begun) / turns
        size = os.path.getsize(home.anchors) / turns * 10_000 / 1e6
        print(f"{turns:,} turns: anchors of 10,000 take {size:.1f} MB (at most 5)")
        await _quiet()
        together = await _noting(core, home, [ids]) / turns
        alone = await _noting(core, home, [[each] for each in ids[:searches]]) / min(turns, searches)
        for how, seconds in (("together", together), ("one by one", alone)):
            share = seconds / (spent - together)
            print(
                f"anchors made {how}: {seconds * 1e3:.1f} ms of processor, {share:.1%} of a write (at most 20)"
            )
        times: dict[str, list[float]] = {"search": [], "marks": [], "known error": []}
        for number in range(searches):
            said = made[rand.randrange(turns)]["user"]
            asked = SearchMemories(query=said)
            hits, took = await _timed(core.search.memories(asked, scope, str(project)))
            _, marks = await _timed(core.marking.marked(hits, str(project)))
            query = f"the worker failed in step {number}: it is missing"
            _, errors = await _timed(commands.find(core.store, query, [scope], datetime.now(UTC)))
            for name, value in zip(times, (took, marks, errors), strict=True):
                times[name].append(value)
        middle = {name: sorted(values)[len(values) // 2] for name, values in times.items()}
        share = middle["marks"] / (middle["search"] - middle["marks"])
        print(
            f"a search takes {middle['search']:.1f} ms, its marks {middle['marks']:.2f} ms: {share:.1%} (at most 5)"
        )
        print(f"a question with words of errors costs {middle['known error']:.1f} ms more")
    finally:
        await core.close()


async def _quiet() -> None:
    """Wait until the work after the writes is done: summaries, links and compaction are no part of anchors."""
    before = 0.0
    while _processor() - before > 0.01 * IDLE_SECONDS:
        before = _processor()
        await asyncio.sleep(IDLE_SECONDS)


async def _noted(core: Core) -> None:
    while core.anchoring._due:  # one call looks at a batch
        await core.anchoring.work()


async def _noting(core: Core, home: Home, batches: list[list[str]]) -> float:
    """Return the seconds of processor that it takes to make the anchors of turns again."""
    os.remove(home.anchors)
    begun = _processor()
    for ids in batches:
        core.anchoring._due |= dict.fromkeys(ids, Turn)
        await _noted(core)
    return _processor() - begun


def _turns(project: Path, count: int, rand: random.Random) -> Iterator[dict[str, Any]]:
    named: list[tuple[str, str]] = []
    for path in sorted(project.rglob("*.py"))[:500]:
        with suppress(SyntaxError, ValueError):
            tree = ast.parse(path.read_text("utf-8"))
            named += [(str(path.relative_to(project)), name) for name, _ in _inside(tree) if "." not in name]
    parts = {word for _, name in named for word in name.split("_")}
    words = sorted(word for word in parts if word.isalpha() and word.islower())  # which name nothing alone
    for number in range(count):
        text = " ".join(rand.choices(words, k=40))
        path, name = rand.choice(named)
        said = {"user": f"Look at {' '.join(rand.choices(words, k=6))}.", "assistant": f"{text}."}
        if number % 3 == 0:
            said["assistant"] = f"`{name}` in {path} decides that. {text}."
        more: dict[str, Any] = {"commands": ["make check", f"pytest {path}"]}
        if number % 5 == 0:
            error = f"exit 1: {rand.choice(words)}: {rand.choice(words)} not found in '{path}'"
            more["failed"] = [f"pytest {path}\n{error}\nmake {rand.choice(words)}"]
        yield {"session_id": f"s{number // 10}", **said, "metadata": more}


def _written(said: dict[str, Any], scope: str) -> Envelope:
    return envelope("turn", parse(RecordTurn, said), scope=scope, source="bench", at=datetime.now(UTC))


def _processor() -> float:
    """Return the seconds of processor that this process and its ended children took."""
    return sum(os.times()[:4])


async def _timed(work: Awaitable[T]) -> tuple[T, float]:
    begun = time.perf_counter()
    done = await work
    return done, (time.perf_counter() - begun) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("repository", nargs="?", default=str(HERE))
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--claims", type=int, default=20, help="of a pair")
    parser.add_argument("--wrong", action="store_true", help="print each claim that was judged wrongly")
    parser.add_argument("--typescript", metavar="FOLDER", help="the npm package of that name")
    parser.add_argument("--cost", type=int, metavar="TURNS", help="measure what anchors cost instead")
    parser.add_argument("--searches", type=int, default=100, help="that are timed with --cost")
    parser.add_argument("--model", action="store_true", help="embed with the default model")
    options = parser.parse_args()
    rand = random.Random(SEED)
    results: list[tuple[Claim, str, bool]] = []
    times: list[float] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve() / "clone"
        source = str(Path(options.repository).resolve())
        git(Path(scratch), "clone", "--quiet", "--shared", source, str(folder))
        if options.cost:
            asyncio.run(cost(folder.parent, options.cost, options.searches, rand, hashing=not options.model))
            return
        history = git(folder, "rev-list", "--first-parent", "HEAD").split()
        for at in range(options.pairs):
            distance = min(DISTANCES[at % len(DISTANCES)], len(history) * 3 // 4)
            newer = rand.randrange(len(history) - distance - 1)
            new, old = history[newer], history[newer + distance]
            git(folder, "checkout", "--quiet", "--force", "--detach", new)
            first, second = (Commit(folder, each, options.typescript) for each in (old, new))
            lines = git(folder, "diff", "--name-status", "-M", "--diff-filter=R", old, new).splitlines()
            renamed = {line.split("\t")[1]: line.split("\t")[2] for line in lines}
            made = claims(first, second, renamed, rand, options.claims)
            found, took = judged(folder, old, [claim.text for claim in made])
            times += took
            for claim, verdict in zip(made, found, strict=True):
                touched = second.blobs.get(claim.path) != first.blobs[claim.path]
                results.append((claim, verdict, touched))
                if options.wrong and verdict != claim.truth:
                    print(
                        f"{old[:9]}..{new[:9]} {claim.truth!r} judged {verdict!r}: {claim.text} [{claim.path}]"
                    )
    report(results, times, options.pairs)


def report(results: list[tuple[Claim, str, bool]], times: list[float], pairs: int) -> None:
    def share(pairs: list[tuple[str, str]]) -> str:
        return percent(true == verdict for true, verdict in pairs)

    count = Counter(claim.truth.split()[0] for claim, _, _ in results)
    print(f"{len(results)} claims over {pairs} pairs of commits: {dict(count)}")
    print("| mark | claims | precision, % | recall, % |\n|---|--:|--:|--:|")
    for title, kinds in (("changed", ("changed",)), ("gone, now in", ("gone", "moved"))):
        due = [(claim.truth, verdict) for claim, verdict, _ in results if claim.truth.split()[0] in kinds]
        given = [(claim.truth, verdict) for claim, verdict, _ in results if verdict.split()[0] in kinds]
        print(f"| {title} | {len(due)} | {share(given)} | {share(due)} |")
    still = [(claim.truth, verdict) for claim, verdict, _ in results if claim.truth == "holds"]
    print(f"| none, as it holds | {len(still)} | | {share(still)} |")
    stale = [touched for claim, _, touched in results if claim.truth != "holds"]
    flagged = [claim.truth != "holds" for claim, _, touched in results if touched]
    quiet = [not touched for claim, _, touched in results if claim.truth == "holds"]
    print(f"| baseline: file changed at all | {len(stale)} | {percent(flagged)} | {percent(stale)} |")
    print(f"| baseline: none, as it holds | {len(quiet)} | | {percent(quiet)} |")
    print(f"marks of ten hits, again: {spread(times)}")


if __name__ == "__main__":
    main()
