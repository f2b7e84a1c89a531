"""Measures recall, time and disk of other stores beside Scrubjay's, over the same turns, vectors and
questions of LoCoMo.

    python tests/bench/peers.py --data locomo10.json [--conversations 1,3] [--pooled] [--json FILE]

Needs what the project itself does not: pip install chromadb==1.5.9 sqlite-vec==0.1.9 apsw==3.54.1.0 Every
system runs in this process, Scrubjay too; nothing opens a connection.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from figures import grid, header, load, percentile
from locomo import Haystack, Key, half_of, pool
from locomo import load as conversations
from metrics import Found, Outcome, mean, outcome
from peers_stores import Chroma, InMemory, Remembering, Scrubjay, Sqlite, System
from tables import HALVES

from scrubjay.encoders import open_encoder
from scrubjay.encoders.protocol import TokenEncoder

SYSTEMS: dict[str, type[System]] = {
    "bm25": InMemory,
    "chromadb": Chroma,
    "sqlite-vec + FTS5": Sqlite,
    "scrubjay": Scrubjay,
}
PACKAGES = ("chromadb", "sqlite-vec", "apsw")
_WINDOW = {"prev_turns": 2, "next_turns": 2}
DEFINITIONS = """\
any, MRR: a turn of the evidence is among the first 10 hits (w0), or within two turns of one in its session (w2); 1 / rank of the first.
w2 of a peer is added from the conversation itself, as none of them has windows; Scrubjay's is what it returned.
ms: one question, its vector known, after every question was asked once; w2: Scrubjay with the window, in the engine's own search.
filled: seconds until every turn is found by words and meaning, vectors known. Scrubjay journals each turn and syncs it to disk.
disk: MB (10^6 bytes) when closed. Every system got `speaker: text` and the vectors of the bundled model; no reranker, no LLM."""


@dataclass
class Measured:
    """What one system gave over all haystacks; `ms` of each question, `filled` in seconds and `disk` in bytes
    together.
    """

    outcomes: dict[str, list[Outcome]] = field(default_factory=dict)  # by half
    ms: list[float] = field(default_factory=list)
    window_ms: list[float] = field(default_factory=list)
    filled: float = 0.0
    disk: int = 0


def main() -> int:
    """Measure what the options choose."""
    parser = argparse.ArgumentParser(description="Measure other stores beside Scrubjay's on LoCoMo.")
    parser.add_argument(
        "--data", type=Path, required=True, metavar="FILE", help="locomo10.json, as published"
    )
    parser.add_argument("--conversations", metavar="1,3", help="only these, counted from 1")
    parser.add_argument(
        "--pooled", action="store_true", help="all of them in one store instead of one store each"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every single value there")
    options = parser.parse_args()
    every = conversations(options.data)
    numbers = (
        range(1, len(every) + 1)
        if options.conversations is None
        else map(int, options.conversations.split(","))
    )
    chosen = [every[number - 1] for number in numbers]
    about = header() | {"peers": ", ".join(f"{name} {version(name)}" for name in PACKAGES)}
    found = {name: Measured() for name in SYSTEMS}
    with tempfile.TemporaryDirectory(prefix="scrubjay-peers-") as folder:
        encoder = open_encoder(verdicts=Path(folder) / "verdicts.json")
        if not isinstance(encoder, TokenEncoder):
            raise TypeError("The bundled model gives tokens; this encoder does not.")
        remembering = Remembering(encoder)
        for haystack in [pool(chosen)] if options.pooled else chosen:
            for name, system in SYSTEMS.items():
                place = Path(folder) / f"{haystack.name}-{name}".replace(" ", "-")
                place.mkdir()
                _measure(found[name], system, haystack, place, remembering)
                _say(f"{haystack.name}: {name}: {_brief(found[name])}")
    about["load"] += f" before, {load()} after"
    print(
        "\n".join(f"{name:>9}: {value}" for name, value in about.items()),
        DEFINITIONS,
        table(found),
        ratios(found),
        sep="\n\n",
    )
    if options.json:
        systems = {name: vars(measured) for name, measured in found.items()}
        options.json.write_text(
            json.dumps({"about": about, "definitions": DEFINITIONS, "systems": systems}), encoding="utf-8"
        )
    return 0


def table(found: dict[str, Measured]) -> str:
    """A line a system and half."""
    lines = [
        (
            "system",
            "half",
            "n",
            "any w0",
            "any w2",
            "MRR",
            "ms p50",
            "p95",
            "w2 p50",
            "p95",
            "filled s",
            "disk MB",
        )
    ]
    for name, measured in found.items():
        for half in HALVES if len(measured.outcomes) == len(HALVES) else ("all",):
            outcomes = measured.outcomes[half]
            values = mean(outcomes)
            shares = (
                f"{100 * values['any_w0']:.1f}",
                f"{100 * values['any_w2']:.1f}",
                f"{values['mrr']:.3f}",
            )
            sizes = (
                *_times(measured.ms),
                *_times(measured.window_ms),
                f"{measured.filled:.1f}",
                f"{measured.disk / 1e6:.1f}",
            )
            lines.append(
                (name, half, str(len(outcomes)), *shares, *(sizes if half == "all" else ("",) * len(sizes)))
            )
    return grid(lines)


def ratios(found: dict[str, Measured]) -> str:
    """Every system's figures as multiples of Scrubjay's."""
    lines = [("multiple of scrubjay's", "any w0", "any w2", "ms p50", "ms p95", "filled", "disk")]
    ours = _figures(found["scrubjay"])
    for name, measured in found.items():
        lines.append(
            (name, *(f"{theirs / mine:.3g}" for theirs, mine in zip(_figures(measured), ours, strict=True)))
        )
    return grid(lines)


def _measure(
    measured: Measured, system: type[System], haystack: Haystack, folder: Path, encoder: Remembering
) -> None:
    encoder.embed_documents([f"{turn.role}: {turn.text}" for turn in haystack.turns])
    store = system(folder, haystack.turns, encoder)
    start = time.perf_counter()
    store.fill()
    measured.filled += time.perf_counter() - start
    for question in haystack.questions:
        store.ask(question.text)
    at = {turn.key: position for position, turn in enumerate(haystack.turns)}
    for question in haystack.questions:
        hits, took = _timed(lambda text=question.text: store.ask(text))
        measured.ms.append(took)
        beside = Found(hits, _around(hits, haystack, at), 0)
        if isinstance(store, Scrubjay):
            (ranked, neighbours), took = _timed(lambda text=question.text: store.search(text, _WINDOW))
            measured.window_ms.append(took)
            beside = Found(ranked, neighbours, 0)
        values = outcome(question.evidence, {"w0": Found(hits, [], 0), "w2": beside})
        for half in (half_of(question.conversation), "all"):
            measured.outcomes.setdefault(half, []).append(values)
    store.close()
    measured.disk += sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _around(hits: Sequence[Key], haystack: Haystack, at: dict[Key, int]) -> list[Key]:
    """The turns up to two places from each hit, in its session."""
    near = (
        (hit, haystack.turns[place].key)
        for hit in hits
        for place in range(max(0, at[hit] - 2), min(len(at), at[hit] + 3))
    )
    return [key for (session, _), key in near if key[0] == session]


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    answer = work()
    return answer, (time.perf_counter() - start) * 1e3


def _figures(measured: Measured) -> tuple[float, ...]:
    values = mean(measured.outcomes["all"])
    return (
        values["any_w0"],
        values["any_w2"],
        percentile(measured.ms, 0.5),
        percentile(measured.ms, 0.95),
        measured.filled,
        measured.disk,
    )


def _times(ms: Sequence[float]) -> tuple[str, str]:
    return (f"{percentile(ms, 0.5):.2f}", f"{percentile(ms, 0.95):.2f}") if ms else ("", "")


def _brief(measured: Measured) -> str:
    values = mean(measured.outcomes["all"])
    return (
        f"any w0 {100 * values['any_w0']:.1f}, w2 {100 * values['any_w2']:.1f}, "
        f"{percentile(measured.ms, 0.5):.1f} ms"
    )


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
