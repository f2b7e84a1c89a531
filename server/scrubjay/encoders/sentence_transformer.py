"""Runs models without an ONNX graph by sentence-transformers, on the CPU; needs `scrubjay[models]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from scrubjay.encoders.folder import ModelFolder, cannot_load, digests, prompts_of
from scrubjay.encoders.hub import stay_offline
from scrubjay.encoders.protocol import Space

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

# Larger batches no longer fit into the cache of a CPU: 256 texts of 80 tokens took 6.6 s in batches of 8, 8.4
# in batches of 32, 12.9 in batches of 128. Single texts took 5.7 s, but are slower if they are short.
_BATCH = 8
_NO_LIMIT = 10**9  # a tokenizer without a limit has a larger number


class SentenceTransformerEncoder:
    """A model of sentence-transformers; opening it takes seconds and hundreds of megabytes.

    `query_prompt` and `document_prompt` are the user's, as in `open_encoder`.

    Raises:
        EncoderError: sentence-transformers cannot load the model; the message gives the reason.
    """

    parallel = False

    def __init__(self, folder: ModelFolder, query_prompt: str | None, document_prompt: str | None) -> None:
        self._model = model = _load(folder)
        own = model.prompts, model.default_prompt_name
        prompts = prompts_of(folder.reference, *own, query_prompt, document_prompt)
        weights, tokenizer = digests(folder)
        limit = model.max_seq_length
        self.space = Space(
            model=folder.reference,
            weights=weights,
            tokenizer=tokenizer,
            dim=model.get_embedding_dimension() or 0,
            pooling=_pooling(model),
            max_seq_length=limit if limit and limit < _NO_LIMIT else None,
            query_prompt=prompts.query,
            document_prompt=prompts.document,
        )

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed stored texts: shape (len(texts), dim), each row of length 1."""
        if not texts:
            return np.empty((0, self.space.dim), np.float32)
        prompt = self.space.document_prompt
        vectors: NDArray[np.float32] = self._model.encode_document(
            list(texts), prompt=prompt, batch_size=_BATCH, normalize_embeddings=True, show_progress_bar=False
        )
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed one question: shape (dim,), of length 1."""
        prompt = self.space.query_prompt
        vector: NDArray[np.float32] = self._model.encode_query(
            text, prompt=prompt, normalize_embeddings=True, show_progress_bar=False
        )
        return vector


def _load(folder: ModelFolder) -> SentenceTransformer:
    """Load a folder's model on the CPU with one thread, without a connection and without running its code."""
    stay_offline()
    import torch
    from sentence_transformers import SentenceTransformer

    # A short question took 18 ms with one thread and 102 ms with two while the machine was busy.
    torch.set_num_threads(1)
    try:
        return SentenceTransformer(
            str(folder.path),
            device="cpu",
            local_files_only=True,
            trust_remote_code=False,
            # float16 is slow on a CPU, and with it or bfloat16, the length of vectors is not 1
            model_kwargs={"dtype": torch.float32},
        )
    except Exception as error:  # for bad files, the library may raise anything
        raise cannot_load(folder, error) from error


def _pooling(model: SentenceTransformer) -> str:
    """Return the pooling modes, joined by `+`."""
    modes: Any = next((part.pooling_mode for part in model if hasattr(part, "pooling_mode")), "mean")
    return modes if isinstance(modes, str) else "+".join(modes)
