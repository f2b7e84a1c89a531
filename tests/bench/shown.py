"""What a model sees of a tool's answer: how much, and how soon certain words appear. Knows MCP's results and
the fence around recalled text; does not know the question.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from projects import plain

FENCE = "<recalled-data"
DOUBTFUL_HITS, DOUBTFUL_TOKENS = 3, 250  # limits of an answer that is marked as doubtful


@dataclass(frozen=True)
class Shown:
    """The answer to one call: its text block, and the structured content if there is any."""

    text: str
    structured: Mapping[str, Any] | None = None

    @property
    def tokens(self) -> int:
        """The visible tokens: of the text or of the structured content as compact JSON, whichever is more;
        hosts differ in which of them they show, and bill what they show.
        """
        return max(tokens_of(self.text), tokens_of(compact(self.structured)) if self.structured else 0)

    @property
    def is_nothing(self) -> bool:
        """Return True if it contains no recalled text."""
        return FENCE not in self.text

    @property
    def is_doubtful(self) -> bool:
        """Return True if the text before the recalled text calls it doubtful."""
        return not self.is_nothing and "doubtful" in self.text.partition(FENCE)[0].casefold()

    def position(self, wanted: Iterable[str]) -> int | None:
        """The tokens of the text up to the end of the line with which the first of these words are complete;
        None if none of them is in it. Case, white space and marks of quotation do not count.

        >>> shown = Shown("One hit.\\n> It listens on\\n> port 8421.\\nEnd.")
        >>> [shown.position(wanted) for wanted in (["ON PORT"], ["gone", "hit"], ["9"])]
        [10, 3, None]
        """
        lines = self.text.splitlines(keepends=True)
        said = [f"{said} " if (said := plain(line.lstrip(" >"))) else "" for line in lines]
        read, ends = "".join(said), list(accumulate(map(len, said)))
        words = [plain(some) for some in wanted]
        starts = [(at, at + len(some)) for some in words if (at := read.find(some)) >= 0]
        if not starts:
            return None
        line = bisect_left(ends, min(starts)[1])
        return math.ceil(sum(map(len, lines[: line + 1])) / 4)


def tokens_of(text: str) -> int:
    """Estimated tokens, ceil(characters / 4)."""
    return math.ceil(len(text) / 4)


def compact(value: Any) -> str:
    """Compact JSON, as a model sees it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def listing(tools: Sequence[Mapping[str, Any]], *, output_schemas: bool) -> int:
    """The tokens of a list of tools: name, description and input schema of each, and its output schema."""
    fields = ("name", "description", "inputSchema", *(("outputSchema",) if output_schemas else ()))
    return sum(tokens_of(compact({name: tool[name] for name in fields if name in tool})) for tool in tools)


def fenced(entries: Sequence[tuple[str, str]]) -> str:
    """The plainest text that shows (heading, text) of each hit in full, as quoted data."""
    hits = ["\n".join([f"- {head}", *(f"> {line}" for line in text.splitlines())]) for head, text in entries]
    return "\n".join([f"{len(hits)} hits.", FENCE + ">", *hits, "</recalled-data>"]) if hits else "Nothing."
