"""Decay: how much of a memory would be left by now, if memories faded. A preview for tuning; nothing here is ever forgotten by age."""

from __future__ import annotations

import math
from typing import NamedTuple


class Decay(NamedTuple):
    """Retention = e^(-idle / life), life = half_life_days * (1 + k_importance * importance / 10 + k_access * accesses / 10).

    The formula and its threshold are Hebb Mind's (0.2 and later), whose clients ask for this preview.
    """

    half_life_days: float = 60.0
    k_importance: float = 1.0
    k_access: float = 1.0
    threshold: float = 0.3

    def life_days(self, importance: float, accesses: int) -> float:
        """Days in which retention falls to 1 / e; `importance` is 0 to 10."""
        return self.half_life_days * (1 + self.k_importance * importance / 10 + self.k_access * accesses / 10)

    def days_left(self, idle_days: float, importance: float, accesses: int) -> float:
        """Days until retention falls below the threshold; negative when it has."""
        return -math.log(self.threshold) * self.life_days(importance, accesses) - idle_days
