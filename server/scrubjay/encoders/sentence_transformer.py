"""The runtime of every other model: sentence-transformers on the CPU. The first text imports torch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scrubjay.encoders.folder import ModelFolder
from scrubjay.encoders.hub import stay_offline
from scrubjay.encoders.protocol import Space
from scrubjay.errors import EncoderError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

# On a CPU larger batches are slower, because activations leave the cache: 256 texts of 80 tokens on average
# took 6.6 s in batches of 8, 8.4 s in batches of 32 and 12.9 s in batches of 128. Single texts (5.7 s) lose
# where texts are short.
_BATCH = 8


class SentenceTransformerEncoder:
    """A model of sentence-transformers. The first text loads it: seconds, and hundreds of megabytes."""

    parallel = False

    def __init__(self, folder: ModelFolder, space: Space) -> None:
        self.space = space
        self._folder = folder

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed stored texts: shape (len(texts), dim), each row of length 1."""
        if not texts:
            return np.empty((0, self.space.dim), np.float32)
        prompt = self.space.document_prompt
        return self._model.encode_document(
            list(texts), prompt=prompt, batch_size=_BATCH, normalize_embeddings=True, show_progress_bar=False
        )

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed one question: shape (dim,), of length 1."""
        prompt = self.space.query_prompt
        return self._model.encode_query(
            text, prompt=prompt, normalize_embeddings=True, show_progress_bar=False
        )

    @cached_property
    def _model(self) -> SentenceTransformer:
        model = load(self._folder)
        width = model.get_embedding_dimension()
        if width != self.space.dim:
            raise EncoderError(
                f"The model {self._folder.reference} gives vectors of {width} numbers, "
                f"but its files promise {self.space.dim}. "
                "Fetch it again with `scrubjay pull`, or choose another with `scrubjay config model ...`."
            )
        return model


def load(folder: ModelFolder) -> SentenceTransformer:
    """Load a folder's model on the CPU, with one thread and no connection; run none of its code.

    Raises:
        EncoderError: sentence-transformers cannot load it; carries its reason.
    """
    stay_offline()
    import torch
    from sentence_transformers import SentenceTransformer

    # F16 and bfloat16 weights are computed in float32: F16 is slow on a CPU, and either leaves vectors that
    # are not of length 1.
    kinds = {"dtype": torch.float32}
    # A short question took 18 ms with one thread and 102 ms with two while the machine was busy.
    torch.set_num_threads(1)
    try:
        return SentenceTransformer(
            str(folder.path), device="cpu", local_files_only=True, trust_remote_code=False, model_kwargs=kinds
        )
    except (OSError, ValueError, KeyError, ImportError, AttributeError, RuntimeError) as error:
        raise EncoderError(
            f"The model {folder.reference} in {folder.path} cannot be loaded: {error}. "
            "Fetch it again with `scrubjay pull`, or choose another with `scrubjay config model ...`."
        ) from error
