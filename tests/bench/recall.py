"""Measures recall on LoCoMo through the installed command: every utterance recorded over MCP, every question
asked with the shipped defaults, next to chance, words, meaning and rank fusion over the same turns.

    python tests/bench/recall.py --data locomo10.json [--half dev] [--conversations 1,3] [--questions 20]
    [--json FILE]

Each conversation gets a home of its own; at the end all of them share one, which is the pooled row. Only
numbers are printed and written, never what was said.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

import homes
import tables
from baselines import NAMES, Index, Vectors
from figures import aims_table, definitions, header, options, report, say
from locomo import Haystack, Key, add_options, count, half_of, pool
from locomo import load as conversations
from metrics import MODES, WINDOWS, Found, filling, mean, outcome
from rpc import Client
from shown import compact, tokens_of
from tables import APART, POOLED, SCRUBJAY, Asked

_INDEXED_SECONDS = 3600.0  # until every passage of a haystack has its vector, on a busy machine
_MOST_HITS = 100  # that a search may be asked for


def main() -> int:
    """Measure what the options select; the exit code is 1 when a complete run misses a goal."""
    parser = _parser()
    given = parser.parse_args()
    homes.need_command(parser)
    every = conversations(given.data)
    chosen = _chosen(every, given)
    if not chosen:
        parser.error(
            f"these options leave nothing of the file's {len(every)} conversations, which are counted from 1"
        )
    about = header()
    asked = list(_measured(chosen, given))
    found = tables.groups(asked)
    reached = tables.goals(found) if chosen == every else []
    meaning = definitions("recall")
    shown = [meaning, tables.systems(found), tables.categories(found), tables.times(asked)]
    shown += [aims_table("all questions", reached)] if reached else []
    values = {
        "groups": list(map(asdict, found)),
        "goals": list(map(asdict, reached)),
        "questions": list(map(_numbers, asked)),
    }
    report(about, *shown, file=given.json, definitions=meaning, **values)
    return int(any(aim.short for aim in reached))


def _measured(chosen: list[Haystack], given: argparse.Namespace) -> Iterator[Asked]:
    vectors = Vectors() if given.baselines else None
    for haystack in chosen:
        yield from _asked(haystack, APART, MODES, vectors)
    if given.pooled and len(chosen) > 1:
        yield from _asked(pool(chosen), POOLED, WINDOWS, vectors)


def _asked(
    haystack: Haystack, store: str, modes: dict[str, dict[str, int]], vectors: Vectors | None
) -> Iterator[Asked]:
    """Every question of a haystack, to the installed command and then to the baselines."""
    by_scrubjay = []
    with stored(haystack) as opened:
        print(f"{haystack.name}: {opened.loading}", file=sys.stderr, flush=True)
        start = time.perf_counter()
        for question in haystack.questions:
            answers = {mode: opened.ask(question.text, arguments) for mode, arguments in modes.items()}
            values = outcome(question.evidence, {mode: found for mode, (found, _) in answers.items()})
            by_scrubjay.append(
                Asked(SCRUBJAY, store, question, values, {mode: ms for mode, (_, ms) in answers.items()})
            )
        took = time.perf_counter() - start
    _say(haystack.name, by_scrubjay, took)
    if vectors is not None:
        yield from _by_baselines(haystack, store, modes, vectors)
    yield from by_scrubjay


def _by_baselines(
    haystack: Haystack, store: str, modes: dict[str, dict[str, int]], vectors: Vectors
) -> Iterator[Asked]:
    index = Index(haystack.turns, vectors)
    rankings = [(question, index.rankings(question)) for question in haystack.questions]
    for system in NAMES:
        for question, ranking in rankings:
            found = {mode: index.found(ranking[system], arguments) for mode, arguments in modes.items()}
            yield Asked(system, store, question, outcome(question.evidence, found), {})


def _say(name: str, asked: list[Asked], seconds: float) -> None:
    values = mean(each.values for each in asked)
    shares = ", ".join(
        f"{metric.replace('_', ' ')} {100 * values[metric]:.1f}"
        for metric in ("any_w0", "any_w2", "session_w2")
    )
    say(f"{name}: {len(asked)} questions in {seconds:.0f} s: {shares}")


def _numbers(asked: Asked) -> dict[str, Any]:
    """One question without its words."""
    where = {
        "conversation": asked.question.conversation,
        "question": asked.question.number,
        "category": asked.question.category,
    }
    return {"system": asked.system, "store": asked.store, **where, **asked.values, "ms": asked.ms}


def _chosen(every: list[Haystack], given: argparse.Namespace) -> list[Haystack]:
    """The conversations, and the first questions of each, that the options name."""
    some = [
        haystack
        for number, haystack in enumerate(every, 1)
        if number in (given.conversations or [number]) and given.half in ("all", half_of(number))
    ]
    return [replace(each, questions=each.questions[: given.questions]) for each in some]


class Store:
    """A client of a home that holds one haystack. `loading` says how long that took."""

    def __init__(self, client: Client, loading: str) -> None:
        self._client = client
        self.loading = loading

    def ask(self, question: str, arguments: Mapping[str, int]) -> tuple[Found, float]:
        """What `search_memories` returned as structure, with these arguments and the shipped defaults, and
        the milliseconds it took. For `text_tokens`, those of up to 100 hits whose bare texts fill so many
        tokens; as structure, an answer of 10,000 tokens holds 98 of the shortest.

        Raises:
            RuntimeError: the answer shows more than it reports.
        """
        budget = arguments.get("text_tokens")
        asked = arguments if budget is None else {"top_k": _MOST_HITS}
        seconds, answer = self._client.timed("search_memories", {"query": question, **asked})
        hits, neighbours = answer["results"], answer["related"]
        if tokens_of(compact(answer)) > (said := answer["tokens"]["rendered"]):
            raise RuntimeError(f"The answer is {tokens_of(compact(answer))} tokens, and says {said}.")
        costs = [tokens_of(hit["memory"]) for hit in hits]
        if budget is not None:
            chosen = filling(costs, budget)
            hits, neighbours, costs = [hits[at] for at in chosen], [], [costs[at] for at in chosen]
        tokens = sum(costs) + sum(tokens_of(each["memory"]) for each in neighbours)
        return Found([_key(hit) for hit in hits], [_key(each) for each in neighbours], tokens), seconds * 1e3


@contextmanager
def stored(haystack: Haystack) -> Iterator[Store]:
    """The haystack, recorded turn by turn and indexed whole; its home is removed at the end.

    Raises:
        RuntimeError: the store does not hold every turn.
        TimeoutError: the vectors were not ready in time.
    """
    with homes.Place() as place, place.client() as client:
        client.initialize()
        start = time.perf_counter()
        client.pipelined("record_turn", (turn.arguments for turn in haystack.turns))
        took = time.perf_counter() - start
        indexed = place.until("indexed", homes.is_embedded, _INDEXED_SECONDS)
        held = place.status()["records"]["turns"]
        last = client.call("record_turn", haystack.turns[-1].arguments)
        if held != len(haystack.turns) or last["stored"] or not last["indexed"]:
            raise RuntimeError(
                f"{held} of {len(haystack.turns)} turns are stored; the last one, recorded again: {last}."
            )
        client.call("search_memories", {"query": "the first one pays for what is loaded late"})
        yield Store(client, f"{held:,} turns recorded in {took:.0f} s, indexed {indexed:.0f} s later")


def _key(hit: dict[str, Any]) -> Key:
    return hit["session_id"], hit["turn"]


def _parser() -> argparse.ArgumentParser:
    parser = options("Measure recall on LoCoMo through the installed command.")
    add_options(parser)
    add = parser.add_argument
    add(
        "--half",
        choices=tables.HALVES,
        default="all",
        help="dev: conversations 1, 3, 5, 7, 9; test: the others",
    )
    add(
        "--questions", type=count, metavar="N", help="only the first N of each conversation, for a quick look"
    )
    add("--no-baselines", dest="baselines", action="store_false", help="the installed command alone")
    add(
        "--no-pooled",
        dest="pooled",
        action="store_false",
        help="no store that holds all conversations at once",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
