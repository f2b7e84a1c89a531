"""A haystack in a home of its own behind the installed command: turns recorded and questions asked over MCP
stdio. Knows the arguments and the answers of the tools; does not judge them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from homes import Place
from locomo import Haystack, Key, Turn
from metrics import Found
from rpc import Client

_INDEXED_SECONDS = 3600.0  # until every passage of a haystack has its vector, on a busy machine


class Store:
    """A client of a home that holds one haystack. `loading` says how long that took."""

    def __init__(self, client: Client, loading: str) -> None:
        self._client = client
        self.loading = loading

    def ask(self, question: str, arguments: Mapping[str, int]) -> tuple[Found, float]:
        """What `search_memories` returned, with the shipped defaults beside these arguments, and the
        milliseconds it took.

        Raises:
            RuntimeError: the answer's own count of tokens is not that of the texts in it.
        """
        seconds, answer = self._client.timed("search_memories", {"query": question, **arguments})
        hits, neighbours = answer["results"], answer["related"]
        tokens = sum(math.ceil(len(each["memory"]) / 4) for each in (*hits, *neighbours))
        if tokens != answer["tokens"]["spent"]:
            raise RuntimeError(
                f"The texts returned are {tokens} tokens, and the answer says {answer['tokens']['spent']}."
            )
        return Found([_key(hit) for hit in hits], [_key(each) for each in neighbours], tokens), seconds * 1e3


@contextmanager
def stored(haystack: Haystack) -> Iterator[Store]:
    """The haystack, recorded turn by turn and indexed whole; its home is removed at the end.

    Raises:
        RuntimeError: the store does not hold every turn.
        TimeoutError: the vectors did not come.
    """
    with Place() as place, place.client() as client:
        client.initialize()
        start = time.perf_counter()
        client.pipelined("record_turn", map(_recording, haystack.turns))
        took = time.perf_counter() - start
        indexed = place.until("indexed", _indexed, _INDEXED_SECONDS)
        held = place.status()["records"]["turns"]
        last = client.call("record_turn", _recording(haystack.turns[-1]))
        if held != len(haystack.turns) or last["stored"] or not last["indexed"]:
            raise RuntimeError(
                f"{held} of {len(haystack.turns)} turns are stored; the last one, recorded again: {last}."
            )
        client.call("search_memories", {"query": "the first one pays for what is loaded late"})
        yield Store(client, f"{held:,} turns recorded in {took:.0f} s, indexed {indexed:.0f} s later")


def _recording(turn: Turn) -> dict[str, Any]:
    """The arguments of `record_turn`."""
    return {
        "session_id": turn.session,
        "turn": turn.number,
        "role": turn.role,
        "text": turn.text,
        "ts": turn.ts,
    }


def _indexed(status: dict[str, Any]) -> bool:
    return status["records"]["waiting_for_vector"] == 0 and status["spool"]["waiting"] == 0


def _key(hit: dict[str, Any]) -> Key:
    return hit["session_id"], hit["turn"]
