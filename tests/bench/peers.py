"""Compares Scrubjay with products that users might choose instead: the same turns, questions and vectors,
each product in an environment of its own and through its usual interface.

    python tests/bench/peers.py --data locomo10.json --environments FOLDER [--python PATH ...] [--only scrubjay,mem0]
    [--conversations 1,3] [--turns N] [--questions N] [--json FILE]

Missing environments are created in FOLDER (3 to 4 GB), which needs the package index. Everything
else runs without a network, in a network namespace of its own (Linux, `unshare`). To measure a new commit of this
project, remove FOLDER/scrubjay.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import figures
from figures import grid, header, percentile, report, say, timed
from homes import end_all, processes_with
from locomo import Haystack, Key, Question, Turn, add_options, pool
from locomo import load as conversations
from metrics import Found, Outcome, mean, outcome
from peers_products import HITS, PRODUCTS, Answer, Pipe, Product, name_of, text_of

CLIENTS = 4
STARTS = 3
_MB = 1e6
_IDLE_SECONDS, _IDLE_SHARE = 3.0, 0.03  # of one core; a file watcher never rests completely
_LOOKED_AT = 10  # turns, when all are written
_SETTLED_SECONDS = 3600.0
_LOADS = "hasattr(sqlite3.Connection, 'enable_load_extension')"
_DRIVER = Path(__file__).with_name("peers_driver.py")
_TORCH = Path(__file__).parents[1] / "constraints.txt"


@dataclass
class Measured:
    """The figures of one product; times in ms except `start`, sizes in bytes."""

    installed: dict[str, Any]
    start: tuple[float, float] = (0.0, 0.0)  # seconds to `tools/list` and to a search
    memory: list[int] = field(default_factory=list)  # with one client, with `CLIENTS`
    writes: list[float] = field(default_factory=list)
    cpu: float = 0.0  # a write
    searches: list[float] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    disk: tuple[int, int] = (0, 0)  # bytes, files


@dataclass
class Running:
    """A product that holds the haystack, with a client to ask."""

    product: Product
    pipe: Pipe
    measured: Measured

    def ask(self, question: str) -> tuple[Answer, float]:
        return timed(lambda: self.product.ask(self.pipe, question))


def main() -> int:
    """Install what is missing, then measure without a network."""
    options = _parser().parse_args()
    products = {name: PRODUCTS[name] for name in options.only.split(",")}
    if not options.offline:
        options.environments.mkdir(parents=True, exist_ok=True)
        for product in {PRODUCTS["mem0"], *products.values()}:  # mem0's makes the model
            _install(product, options.python or [sys.executable], options.environments)
        _export(options.environments)
        alone = 'ip link set lo up && exec "$@"'
        rights = () if os.geteuid() == 0 else ("--map-root-user",)
        again = ("sh", "-c", alone, "sh", sys.executable, *sys.argv, "--offline")
        os.execvp("unshare", ["unshare", "--net", *rights, *again])
    haystack = _shortened(options)
    about = header() | {"asked": f"{len(haystack.turns):,} turns, {len(haystack.questions)} questions"}
    with tempfile.TemporaryDirectory(prefix="scrubjay-peers-") as folder:
        found = measure(products, haystack, options.environments, Path(folder))
    values = {name: vars(measured) for name, measured in found.items()}
    meaning = figures.definitions("peers")
    report(about, meaning, table(found), file=options.json, definitions=meaning, products=values)
    return 0


def measure(
    products: dict[str, type[Product]], haystack: Haystack, installed: Path, folder: Path
) -> dict[str, Measured]:
    """The figures of every product: each is filled alone, then all are asked every question in turn, then
    each is started alone.
    """
    keys: dict[str, list[Key]] = defaultdict(list)
    for turn in haystack.turns:
        keys[name_of(*turn.key)].append(turn.key)
        keys[text_of(turn)].append(turn.key)
    running: list[Running] = []
    with contextlib.ExitStack() as ends:
        for name, kind in products.items():
            home = folder / name
            home.mkdir()
            product = kind(installed / name, home)
            product.prepare(installed / "model")
            ends.callback(end_all, "HOME", home)
            pipe = product.client()
            ends.callback(pipe.close)
            measured = Measured(json.loads((installed / name / "installed.json").read_text()))
            running.append(Running(product, pipe, measured))
            _fill(running[-1], haystack.turns)
        longest = max(haystack.turns, key=lambda turn: len(turn.text))
        for each in running:
            answer, _ = each.ask(longest.text[:200])  # mempalace takes 250 characters
            if longest.key not in _keys(answer, keys):
                raise RuntimeError(f"{each.product.name} does not find a turn: {answer.visible[:500]}")
        for number, question in enumerate(haystack.questions):
            for at in range(len(running)):
                _ask(running[(number + at) % len(running)], question, keys)
        for each in running:
            each.measured.disk = _disk(each.product.home)
    for each in running:
        _start(each.product, each.measured)
        say(f"{each.product.name}: started")
    return {each.product.name: each.measured for each in running}


def table(found: dict[str, Measured]) -> str:
    """A column a product."""
    rows: list[tuple[str, Callable[[Measured], str]]] = [
        ("start: `tools/list` / search, s", lambda it: f"{it.start[0]:.2f} / {it.start[1]:.2f}"),
        (
            f"memory: 1 / {CLIENTS} clients, MB",
            lambda it: " / ".join(_memory(it)),
        ),
        ("write p50, ms", lambda it: f"{percentile(it.writes, 0.5):.1f}"),
        ("cpu of a write until it is found by meaning, ms", lambda it: f"{it.cpu:.0f}"),
        (
            "search p50 / p95, ms",
            lambda it: f"{percentile(it.searches, 0.5):.1f} / {percentile(it.searches, 0.95):.1f}",
        ),
        ("evidence / any among ten hits, %", lambda it: _shares(it.outcomes)),
        ("tokens of ten hits", lambda it: f"{mean(it.outcomes)['tokens_w0']:.0f}"),
        ("disk right after, MB / files", lambda it: f"{it.disk[0] / _MB:.1f} / {it.disk[1]:,}"),
        ("installed, MB / s", lambda it: f"{it.installed['mb']:.0f} / {it.installed['seconds']:.0f}"),
    ]
    heads = ("", *(f"{name} {found[name].installed['version']}" for name in found))
    return grid([heads, *((what, *map(shown, found.values())) for what, shown in rows)])


def _fill(each: Running, turns: Sequence[Turn]) -> None:
    """Write every turn, one after another, and wait until the product rests."""
    each.pipe.initialize()
    each.ask("loads the model, which no write is charged for")
    _rest(each.product.home)
    before = _cpu(each.product.home)
    for turn in turns:
        each.measured.writes.append(timed(lambda turn=turn: each.product.write(each.pipe, turn))[1])
    for turn in turns[:: max(1, len(turns) // _LOOKED_AT)]:
        while not each.product.searchable(each.pipe, turn):
            time.sleep(_IDLE_SECONDS)
    _rest(each.product.home)
    each.measured.cpu = (_cpu(each.product.home) - before) * 1e3 / len(turns)
    say(f"{each.product.name}: written, {percentile(each.measured.writes, 0.5):.1f} ms a turn")


def _ask(each: Running, question: Question, keys: dict[str, list[Key]]) -> None:
    answer, took = each.ask(question.text)
    each.measured.searches.append(took)
    found = Found(_keys(answer, keys), [], -(-len(answer.visible) // 4))
    each.measured.outcomes.append(outcome(question.evidence, {"w0": found}))


def _keys(answer: Answer, keys: dict[str, list[Key]]) -> list[Key]:
    return [key for hit in answer.hits[:HITS] for key in keys[hit.strip()]]


def _start(product: Product, measured: Measured) -> None:
    """Start it from nothing a few times, then a client and three more."""
    times = []
    for _ in range(STARTS):
        with product.client() as pipe:
            pipe.initialize()
            listed = pipe.age
            product.ask(pipe, "what was the first thing they spoke about")
            times.append((listed, pipe.age))
        end_all("HOME", product.home)
    measured.start = tuple(percentile(each, 0.5) for each in zip(*times, strict=True))
    with contextlib.ExitStack() as ends:
        ends.callback(end_all, "HOME", product.home)
        for number in range(1, 1 + (CLIENTS if product.many_clients else 1)):
            pipe = ends.enter_context(product.client())
            pipe.initialize()
            product.ask(pipe, "what was the last thing they spoke about")
            if number in (1, CLIENTS):
                _rest(product.home)
                measured.memory.append(
                    sum(it.memory_full_info().pss for it in processes_with("HOME", product.home))
                )


def _cpu(home: Path) -> float:
    """Seconds of processor that the processes of a home have taken, with children that have ended."""
    return sum(sum(process.cpu_times()[:4]) for process in processes_with("HOME", home))


def _rest(home: Path) -> None:
    """Wait until the processes of a home do nothing.

    Raises:
        TimeoutError: they never rest.
    """
    start = time.perf_counter()
    before = _cpu(home)
    while True:
        time.sleep(_IDLE_SECONDS)
        now = _cpu(home)
        if now - before < _IDLE_SHARE * _IDLE_SECONDS:
            return
        if time.perf_counter() - start > _SETTLED_SECONDS:
            raise TimeoutError(f"The processes of {home} still work after {_SETTLED_SECONDS:.0f} s.")
        before = now


def _disk(folder: Path) -> tuple[int, int]:
    """Bytes and number of files, without links, such as the model's files."""
    files = [Path(where) / name for where, _, names in os.walk(folder) for name in names]
    sizes = [file.lstat().st_size for file in files if file.is_file() and not file.is_symlink()]
    return sum(sizes), len(sizes)


def _install(product: type[Product], pythons: Sequence[str], folder: Path) -> None:
    """Make an environment twice, so that the time is that of a warm cache."""
    place = folder / product.name
    if (place / "installed.json").exists():
        return
    python = next((each for each in pythons if _runs(each, f"sys.version_info >= {product.python}")), None)
    if python is None:
        raise SystemExit(
            f"{product.name} needs Python {product.python}; name one with --python, or --only others."
        )
    packages = [*product.packages]
    without = product.sqlite_extensions and not _runs(python, _LOADS)
    if without:
        packages.append("pysqlite3-binary")
    constraints = folder / "constraints.txt"
    torch = (line for line in _TORCH.read_text().splitlines() if line.startswith("torch=="))
    constraints.write_text("\n".join(torch))
    for _ in range(2):
        shutil.rmtree(place, ignore_errors=True)
        start = time.perf_counter()
        _run(python, "-m", "venv", str(place))
        _run(str(place / "bin/pip"), "install", "-q", "-c", str(constraints), *packages)
        seconds = time.perf_counter() - start
    (packages_in,) = place.glob("lib/python*/site-packages")
    if without:
        (packages_in / "sqlite3.pth").write_text(
            'import sys, pysqlite3; sys.modules["sqlite3"] = pysqlite3\n'
        )
    name = product.packages[0].partition("[")[0].partition("==")[0]
    code = f"from importlib.metadata import version; print(version({Path(name).name!r}))"
    version = "" if Path(name).is_dir() else _run(str(place / "bin/python"), "-c", code)
    about = {"seconds": seconds, "mb": _disk(packages_in)[0] / _MB, "version": version}
    (place / "installed.json").write_text(json.dumps(about))
    say(f"{product.name}: installed, {about}")


def _export(folder: Path) -> None:
    """Write the model once; the exporter is installed next to mem0's packages for as long as that takes."""
    if not (folder / "model").exists():
        with tempfile.TemporaryDirectory() as tools:
            _run(str(folder / "mem0/bin/pip"), "install", "-q", "--target", tools, "onnx")
            arguments = (str(folder / "mem0/bin/python"), str(_DRIVER), "model", str(folder / "model"))
            _run(*arguments, PYTHONPATH=tools)


def _runs(python: str, condition: str) -> bool:
    return _run(python, "-c", f"import sqlite3, sys; print({condition})") == "True"


def _run(*command: str, **env: str) -> str:
    """The output of a command.

    Raises:
        SystemExit: it failed.
    """
    done = subprocess.run(command, env=os.environ | env, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return done.stdout.strip()


def _shortened(options: argparse.Namespace) -> Haystack:
    """The first turns of the conversations as one haystack, and questions about them, evenly spread."""
    every = conversations(options.data)
    whole = pool(every[number - 1] for number in options.conversations or (1, 3))
    turns = whole.turns[: options.turns]
    held = {turn.key for turn in turns}
    questions = [question for question in whole.questions if question.evidence <= held]
    count = min(options.questions or len(questions), len(questions))
    spread = (questions[at * len(questions) // count] for at in range(count))
    return Haystack(whole.name, turns, tuple(spread))


def _memory(it: Measured) -> list[str]:
    sizes = [f"{size / _MB:.0f}" for size in it.memory]
    return sizes if len(sizes) > 1 else [*sizes, "-"]


def _shares(outcomes: Sequence[Outcome]) -> str:
    values = mean(outcomes)
    return f"{100 * values['frac_w0']:.1f} / {100 * values['any_w0']:.1f}"


def _parser() -> argparse.ArgumentParser:
    parser = figures.options("Compare Scrubjay with other products on LoCoMo.")
    add_options(parser)
    add = parser.add_argument
    add("--environments", type=Path, required=True, metavar="FOLDER", help="where the products are installed")
    add(
        "--python", action="append", metavar="PATH", help="interpreters; a product takes the first it runs on"
    )
    add("--only", default=",".join(PRODUCTS), metavar="a,b", help="only these of %(default)s")
    add("--turns", type=int, metavar="N", help="only the first N")
    add("--questions", type=int, metavar="N", help="only N of them")
    add("--offline", action="store_true", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
