"""Cross-encoders: the bundled model, trained further to read several texts as one input.

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
    """Join parts, each a segment and its token ids, to one input.

    >>> lay_out([(0, [7, 8]), (1, [9])]).tolist()
    [[101, 7, 8, 102, 9, 102], [0, 0, 0, 0, 1, 1]]
    """
    ids, segments = [_BEGIN], [0]
    for segment, tokens in parts:
        ids += [*tokens, _END]
        segments += [segment] * (len(tokens) + 1)
    return np.array([ids, segments], np.int16)


class CrossEncoder:
    """Runs a graph in the bundled model's folder; the graph is opened on first use."""

    def __init__(self, graph: str) -> None:
        self._graph = graph

    def ids(self, text: str, most: int) -> list[int]:
        """Return the ids of the first tokens of a text, at most `most`."""
        return vocabulary().ids(text)[:most]

    def read(self, tokens: Input) -> NDArray[np.float32]:
        """Run the graph on an input and return its output."""
        ids, segments = tokens[:, None].astype(np.int64)
        output: NDArray[np.float32] = self._session.run(None, {"ids": ids, "segments": segments})[0][0]
        return output

    @cached_property
    def _session(self) -> Any:
        return open_session(FOLDER / self._graph)
