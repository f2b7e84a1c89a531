"""Judges how likely it is that a text answers a question.

A cross-encoder, trained by `server/model/answers.py`, reads both together, so it sees that "Nadia owns the
payments module" does not say who owns the search module. It reads English.
"""

from functools import lru_cache

from scrubjay.encoders.cross_encoder import CrossEncoder, Input, lay_out

GRAPH, WEIGHTS = "answers.onnx", "answers.bin"
LENGTH = 260  # characters of a text from which an excerpt is read; the time grows with the length
ASKED, SAID = 24, 80  # tokens that are read of the question and of the text with the kinds of its things
_MODEL = CrossEncoder(GRAPH)


@lru_cache(maxsize=1024)
def log_odds(question: str, text: str) -> float:
    """Return the log odds that the text answers the question; takes 2 to 10 ms.

    As in the training data, they assume that one of four texts about the same things does.
    """
    return float(_MODEL.read(laid_out(question, text)))


def laid_out(question: str, text: str) -> Input:
    """Lay out the question and the text as one input, each as a segment."""
    return lay_out([(0, _MODEL.ids(question, ASKED)), (1, _MODEL.ids(text, SAID))])
