"""Judges how likely it is that a later text changes what an earlier one says about a question.

A cross-encoder, trained by `server/model/changes.py`, reads the question and both texts together, so it sees
that "the dump lands in the Wasabi bucket" replaces "the dump goes to the NAS". It reads English.
"""

from functools import lru_cache

from scrubjay.encoders.cross_encoder import CrossEncoder, Input, lay_out

GRAPH, WEIGHTS = "reader.onnx", "reader.bin"
ASKED, SAID = 24, 64  # tokens that are read of the question and of each text; the time grows with them
_MODEL = CrossEncoder(GRAPH)


@lru_cache(maxsize=1024)  # the same records answer many questions
def log_odds(question: str, earlier: str, later: str) -> float:
    """Return the log odds that the later text changes the earlier one; takes 3 to 40 ms.

    As in the training data, they assume that the later text changes the earlier one in two of five pairs.
    """
    return float(_MODEL.read(laid_out(question, earlier, later)))


def laid_out(question: str, earlier: str, later: str) -> Input:
    """Lay out the three texts as one input, each as a segment."""
    texts = (question, ASKED), (earlier, SAID), (later, SAID)
    return lay_out([(segment, _MODEL.ids(*text)) for segment, text in enumerate(texts)])
