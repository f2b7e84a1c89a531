"""What the rest of Scrubjay knows of a model: texts in, unit vectors out, and the identity of their space; of some, tokens too.
Does not know which model or runtime is behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from scrubjay.encoders.space import Space
from scrubjay.encoders.token_codes import Asked, Embedded


class Encoder(Protocol):
    """A text encoder: synchronous, deterministic.

    Both methods raise `EncoderError` when the model behind them cannot be loaded.
    """

    parallel: bool
    """Whether a second thread may call it meanwhile; the tokenizers of sentence-transformers do not bear that."""

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


@runtime_checkable
class TokenEncoder(Encoder, Protocol):
    """An encoder that also gives the tokens of a text, out of the forward that makes its vector; same errors."""

    def embed_passages(self, texts: Sequence[str]) -> Embedded:
        """Vectors of stored texts, equal to those of `embed_documents`, and their tokens' codes."""
        ...

    def embed_question(self, text: str) -> Asked:
        """The vector of one question as of `embed_query`, or zeros for one that the model cannot read, and the codes of its tokens."""
        ...
