"""Embedding models: texts in, unit vectors out.

`open_encoder` opens a model by name, and `EmbeddingWorker` runs it for callers on an event loop. `Space`
identifies its vectors, `is_former` recognises those of its earlier versions, and `drift` detects a model
that has changed.
"""

from scrubjay.encoders.bundled import BUNDLED
from scrubjay.encoders.opening import open_encoder
from scrubjay.encoders.protocol import (
    DRIFT_LIMIT,
    Encoder,
    Space,
    TokenEncoder,
    drift,
    is_former,
)
from scrubjay.encoders.worker import EmbeddingWorker

__all__ = [
    "BUNDLED",
    "DRIFT_LIMIT",
    "EmbeddingWorker",
    "Encoder",
    "Space",
    "TokenEncoder",
    "drift",
    "is_former",
    "open_encoder",
]
