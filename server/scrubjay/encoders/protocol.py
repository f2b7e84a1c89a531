"""What the rest of Scrubjay knows of a model: texts in, unit vectors out, and the identity of their space.
Does not know which model or runtime is behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from scrubjay.encoders.space import Space


class Encoder(Protocol):
    """A text encoder: synchronous, deterministic, called from one thread at a time.

    Both methods raise `EncoderError` when the model behind them cannot be loaded.
    """

    @property
    def space(self) -> Space:
        """The identity of the vectors this encoder makes; reading it loads no weights."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of stored texts: shape (len(texts), space.dim), each row of length 1."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of one question: shape (space.dim,), of length 1."""
        ...
