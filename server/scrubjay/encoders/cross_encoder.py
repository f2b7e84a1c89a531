"""Cross-encoders: further trained forms of the bundled model that read several texts as one input.

`server/model/make_minilm.py` makes their graphs.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrubjay.encoders.bundled import FOLDER, vocabulary
from scrubjay.encoders.onnx_tokens import open_session

_BEGIN, _END = 101, 102  # the ids of [CLS] and [SEP]

Input = NDArray[np.int16]  # the ids of the tokens, and the segment of each; shape (2, tokens)


def lay_out(parts: Iterable[tuple[int, Sequence[int]]]) -> Input:
    """Lay out parts, each a segment and its ids, as one input.

    >>> lay_out([(0, [7, 8]), (1, [9])]).tolist()
    [[101, 7, 8, 102, 9, 102], [0, 0, 0, 0, 1, 1]]
    """
    ids, segments = [_BEGIN], [0]
    for segment, some in parts:
        ids += [*some, _END]
        segments += [segment] * (len(some) + 1)
    return np.array([ids, segments], np.int16)


class CrossEncoder:
    """Runs a graph of the bundled model's folder, which it opens when it is first used."""

    def __init__(self, graph: str) -> None:
        self._graph = graph

    def ids(self, text: str, most: int) -> list[int]:
        """Return the ids of a text's first tokens."""
        return vocabulary().ids(text)[:most]

    def read(self, given: Input) -> NDArray[np.float32]:
        """Return what the graph says of an input."""
        ids, segments = given[:, None].astype(np.int64)
        said: NDArray[np.float32] = self._session.run(None, {"ids": ids, "segments": segments})[0][0]
        return said

    @cached_property
    def _session(self) -> Any:
        return open_session(FOLDER / self._graph)
