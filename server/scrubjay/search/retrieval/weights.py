"""The weights of the ranking sum and of the reliability of answers, fitted by `tests/bench/fit.py`.

`weights.json` is fitted to the bundled model and serves every model that has no weights of its own.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

Weights = Mapping[str, float]
_BUNDLED = "weights.json"
_FILES = {"multilingual": "weights_multilingual.json"}  # by the model's name


class Fitted(NamedTuple):
    """The weights that belong to one model."""

    first: Weights  # for the features of candidates that are not examined yet
    order: Weights  # for all features
    verdict: Weights  # log odds that an answer is among the first hits
    right: Weights  # log odds that one hit is right
    similarity: Weights  # log odds that a record answers by itself
    amends: Mapping[str, Weights]  # log odds that a later record amends an earlier one, by kind


def file_of(model: str) -> Path:
    """Return the file with the weights for the vectors of this model."""
    return Path(__file__).with_name(_FILES.get(model, _BUNDLED))


@cache
def weights_of(model: str) -> Fitted:
    """Return the weights for the vectors of this model."""
    values = json.loads(file_of(model).read_text("utf-8"))
    return Fitted(*(values[field] for field in Fitted._fields))


BUNDLED = weights_of("bundled")
