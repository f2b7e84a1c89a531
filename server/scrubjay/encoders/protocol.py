"""The interface of a model: texts in, unit vectors out, and the identity of their space.

Some models also return the tokens of a text. The canaries detect a model whose vectors have changed.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from scrubjay.encoders.token_codes import EncodedQuery, EncodedTexts

DRIFT_LIMIT = 3e-3
"""The greatest `drift` at which new vectors still belong to the stored space.

Measured with the canaries and all-MiniLM-L6-v2. Harmless: another runtime 7e-13, bfloat16 5e-5, int8 in
another order of operations 7e-4. Harmful: int8 instead of fp32 8.3e-3, 128 instead of 256 tokens 3.3e-2, a
prompt before documents 5.0e-2, before questions 9.6e-2.
"""

CANARY_QUERY = "Which day did we agree to move the nightly backup to?"
CANARY_DOCUMENTS = (
    "The staging database listens on port 5433.",
    "Überprüft: `parse_args(argv[1:])` → naïve café №7, £3.50; see /etc/hosts, 東京 & “quotes” — done?!",
    # Longer than any usual limit of 128 to 512 tokens: only this text reveals a changed maximal length.
    " ".join(
        f"On day {day} the jay hid {day % 7 + 2} acorns under stone {day * 13 % 97} and ate them later."
        for day in range(1, 61)
    ),
)


# The digests of the weights of each model's earlier versions, before further training, oldest first.
_FORMER_WEIGHTS = {
    "bundled": (
        "8d07ebdd0adc9c55671f85a0be3a4c22ae02782d776b58c5d8397fef96a16a56",
        "ab57d74356a14b2403303dc1ee942cbd98be17be9c4c014549f611a4b37cfcf4",
    ),
    "multilingual": ("a3b942dc2974af38ed6f32bda451ff942d730ff4972e24c7f9a1c65b25daf883",),
}


class Space(BaseModel):
    """Everything that determines what a vector means; vectors with equal `space_id` may be compared."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(
        min_length=1, description="`bundled`, a hub id with its commit, or the name of a folder; never a path"
    )
    weights: str = Field(description="SHA-256 over the weight files and the settings that shape the forward")
    tokenizer: str = Field(description="SHA-256 over the tokenizer's files")
    dim: int = Field(ge=1)
    pooling: str = Field(description="how token vectors are combined: mean, cls, ...")
    normalised: bool = True
    max_seq_length: int | None = Field(ge=1, description="tokens that are read of a text; None: no limit")
    query_prompt: str = ""
    document_prompt: str = ""
    precision: Literal["fp32", "int8"] = "fp32"

    @property
    def space_id(self) -> str:
        """16 hex digits of SHA-256 over the fields as canonical JSON (sorted keys, no spaces, UTF-8)."""
        canonical = json.dumps(self.model_dump(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def is_former(space: Space, space_id: str) -> bool:
    """Return True if `space_id` identifies an earlier version of this model.

    Vectors of both may be compared until the engine has replaced the old ones: the new model's questions find
    passages of the old one as often as the old one's did (BENCHMARKS, "The bundled model").
    """
    digests = _FORMER_WEIGHTS.get(space.model, ())
    return any(space_id == space.model_copy(update={"weights": digest}).space_id for digest in digests)


class Encoder(Protocol):
    """A synchronous, deterministic text encoder.

    Both embedding methods raise `EncoderError` if the model cannot be loaded.
    """

    parallel: bool
    """True if two threads may call the encoder at once; sentence-transformers' tokenizers forbid that."""

    @property
    def space(self) -> Space:
        """The identity of this encoder's vectors; reading it loads no weights."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed stored texts: shape (len(texts), space.dim), each row of length 1."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed one question: shape (space.dim,), of length 1."""
        ...


@runtime_checkable
class TokenEncoder(Encoder, Protocol):
    """An encoder that also returns a text's tokens, from the same forward pass; its errors are the same."""

    def embed_passages(self, texts: Sequence[str]) -> EncodedTexts:
        """Embed stored texts as `embed_documents` does, and return the codes of their tokens."""
        ...

    def embed_question(self, text: str) -> EncodedQuery:
        """Embed one question as `embed_query` does, and return the codes of its tokens.

        The vector is zero if the model cannot read the question.
        """
        ...

    def places(self, text: str) -> list[tuple[int, int]]:
        """Return the start and the end (exclusive) of each token that has a code."""
        ...


def drift(stored: NDArray[np.float32], fresh: NDArray[np.float32]) -> float:
    """Return the greatest 1 - cos between the stored and the fresh vector of a canary, in [0, 2].

    Arrays of different shapes come from different models: their drift is 2.
    """
    if stored.shape != fresh.shape:
        return 2.0
    old, new = stored.astype(np.float64), fresh.astype(np.float64)
    cosines = (old * new).sum(axis=1) / (np.linalg.norm(old, axis=1) * np.linalg.norm(new, axis=1))
    return float(np.clip(1.0 - cosines, 0.0, 2.0).max())
