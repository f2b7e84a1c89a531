"""Embedding models: texts in, unit vectors out.

open_encoder      opens a model by its name, as an Encoder, or a TokenEncoder if its runtime gives tokens
EmbeddingWorker   one encoder in one thread, for callers on an event loop Space             the identity of
the vectors; canary_vectors and drift notice a model that no longer keeps to it pull
(scrubjay.encoders.hub) the explicit download
"""

from scrubjay.encoders.bundled import BUNDLED
from scrubjay.encoders.opening import open_encoder
from scrubjay.encoders.protocol import DRIFT_LIMIT, Encoder, Space, TokenEncoder, canary_vectors, drift
from scrubjay.encoders.worker import EmbeddingWorker

__all__ = [
    "BUNDLED",
    "DRIFT_LIMIT",
    "EmbeddingWorker",
    "Encoder",
    "Space",
    "TokenEncoder",
    "canary_vectors",
    "drift",
    "open_encoder",
]
