"""How likely it is that memories answer a question like this one, judged by its vector alone.

Memories often say which tool is used and why; few say what it costs, who chose it or how many there are. The
weights of a model are fitted to 20,000 questions by `server/model/prior.py`.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PRIORS = Path(__file__).with_name("priors.json")
_MOST = 3.0  # log odds; a vector far from every question that was fitted says no more


def prior(model: str, vector: NDArray[np.float32]) -> float:
    """Return the log odds in [-3, 3] for a question with this vector; 0 for a model without weights.

    They suppose that as many questions are answered as not.
    """
    fitted = _priors().get(model)
    if fitted is None:
        return 0.0
    weights, offset = fitted
    return float(np.clip(vector @ weights + offset, -_MOST, _MOST))


@cache
def _priors() -> dict[str, tuple[NDArray[np.float32], float]]:
    read = json.loads(PRIORS.read_text("utf-8"))
    return {model: (np.array(each["weights"], np.float32), each["offset"]) for model, each in read.items()}
