"""A haystack in a home of its own behind the installed command: turns recorded and questions asked over MCP
stdio. Knows the arguments and the answers of the tools; does not judge them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from homes import Place, is_embedded
from locomo import Haystack, Key
from metrics import Found, filling
from rpc import Client
from shown import compact, tokens_of

_INDEXED_SECONDS = 3600.0  # until every passage of a haystack has its vector, on a busy machine
_MOST_HITS = 100  # that a search may be asked for


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
    with Place() as place, place.client() as client:
        client.initialize()
        start = time.perf_counter()
        client.pipelined("record_turn", (turn.arguments for turn in haystack.turns))
        took = time.perf_counter() - start
        indexed = place.until("indexed", is_embedded, _INDEXED_SECONDS)
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
