"""The likelihood that memories answer a question, judged by the question's vector alone.

Many memories say which tool is used and why; few say what it costs, who chose it or how many there are. The
weights for a model are fitted to 20,000 questions by `server/model/prior.py`.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PRIORS = Path(__file__).with_name("priors.json")
_MAX_LOG_ODDS = 3.0  # a vector far from all fitted questions is no stronger evidence


def prior(model: str, vector: NDArray[np.float32]) -> float:
    """Return the log odds in [-3, 3] that memories answer a question; 0 for a model without weights.

    The log odds assume that memories answer half of all questions.
    """
    fit = _priors().get(model)
    if fit is None:
        return 0.0
    weights, offset = fit
    return float(np.clip(vector @ weights + offset, -_MAX_LOG_ODDS, _MAX_LOG_ODDS))


@cache
def _priors() -> dict[str, tuple[NDArray[np.float32], float]]:
    fits = json.loads(PRIORS.read_text("utf-8"))
    return {model: (np.array(fit["weights"], np.float32), fit["offset"]) for model, fit in fits.items()}
