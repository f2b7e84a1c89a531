"""The engine of the test at hand: what takes long to build is built over this once, and each test puts its
own engine in.
"""

from __future__ import annotations

from typing import Any

from scrubjay.engine.engine import Engine


class Current:
    engine: Engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)


CURRENT = Current()
