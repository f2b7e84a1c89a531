"""Reads how likely a later text changes what an earlier one says, in the light of a question.

A cross-encoder: the bundled model, trained further by `server/model/changes.py`, reads all three together, so
it sees that "the dump lands in the Wasabi bucket" replaces "the dump goes to the NAS". It reads English.
"""

from functools import cache, lru_cache
from typing import Any

import numpy as np

from scrubjay.encoders.bundled import FOLDER, VOCABULARY
from scrubjay.encoders.onnx_tokens import open_session
from scrubjay.encoders.wordpiece import WordPiece

GRAPH, WEIGHTS = "reader.onnx", "reader.bin"
ASKED, SAID = 24, 64  # tokens that are read of the question and of each text; time grows with them
_BEGIN, _END = 101, 102  # the ids of [CLS] and [SEP]
_QUESTION = 0  # segment; 1 is the earlier text, 2 the later one

Input = tuple[list[int], list[int]]  # the ids of the tokens, and the segment of each


@lru_cache(maxsize=1024)  # the same records answer many questions
def log_odds(question: str, earlier: str, later: str) -> float:
    """Return the log odds that the later text changes the earlier one; takes 3 to 40 ms.

    They suppose that two of five pairs change, as in the lessons.
    """
    ids, segments = read(_vocabulary(), question, earlier, later)
    given = {"ids": np.array([ids], np.int64), "segments": np.array([segments], np.int64)}
    return float(_session().run(None, given)[0][0])


def read(vocabulary: WordPiece, question: str, earlier: str, later: str) -> Input:
    """Lay out the three texts as one input."""
    ids, segments = [_BEGIN], [_QUESTION]
    texts = (question, ASKED), (earlier, SAID), (later, SAID)
    for segment, (text, most) in enumerate(texts):
        some = [*vocabulary.ids(text)[:most], _END]
        ids += some
        segments += [segment] * len(some)
    return ids, segments


@cache
def _session() -> Any:
    return open_session(FOLDER / GRAPH)


@cache
def _vocabulary() -> WordPiece:
    return WordPiece(FOLDER / VOCABULARY)
