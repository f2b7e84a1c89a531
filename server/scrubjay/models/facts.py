"""A fact as the write-ahead log takes it: what `add_memory` says of one, and what only some faces can say."""

from __future__ import annotations

from scrubjay.models.requests import AddMemory, Reason


class FactText(AddMemory):
    """Keep one fact, or a new version of one. `forget_reason` is why it expires; it goes with `expires_at`."""

    forget_reason: Reason | None = None
