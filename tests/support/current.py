"""The engine of the current test: objects that are slow to build are built over this once, and each test sets
its own engine.
"""

from __future__ import annotations

from typing import Any

from scrubjay.engine.engine import Engine


class Current:
    engine: Engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)


CURRENT = Current()
