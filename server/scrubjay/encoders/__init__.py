"""Models: texts in, unit vectors out. Knows runtimes and model folders; does not know records, scopes or the store."""

from scrubjay.encoders.protocol import Encoder
from scrubjay.encoders.space import DRIFT_LIMIT, Space, canary_vectors, drift

__all__ = ["DRIFT_LIMIT", "Encoder", "Space", "canary_vectors", "drift"]
