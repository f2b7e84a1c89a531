"""The weights of the ranking sum and of the reliability of answers, fitted by `tests/bench/fit.py`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Weights = Mapping[str, float]

_ALL: Mapping[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
FIRST: Weights = _ALL["first"]  # for the features of candidates that are not examined yet
ORDER: Weights = _ALL["order"]  # for all features
VERDICT: Weights = _ALL["verdict"]  # log odds that an answer is among the first hits
VERDICT_READ: Weights = _ALL["verdict_read"]  # likewise, after a model has read the first hits
RIGHT: Weights = _ALL["right"]  # log odds that one hit is right
SIMILARITY: Weights = _ALL["similarity"]  # log odds that a record answers by itself
AMENDS: Mapping[str, Weights] = _ALL["amends"]  # log odds that a later record amends an earlier one, by kind
READS: Mapping[str, Weights] = _ALL["reads"]  # likewise, after a model has read both
