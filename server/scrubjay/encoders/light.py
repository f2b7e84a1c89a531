"""The light runtime: BERT models of sentence-transformers with numpy and tokenizers, and no torch.
Knows tokens, pooling and prompts of such models; does not know which model is the default or where it lies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController
from tokenizers import Tokenizer

from scrubjay.encoders.bert import Bert, why_not
from scrubjay.encoders.folder import ModelFolder
from scrubjay.encoders.space import Space
from scrubjay.errors import EncoderError

TOKENS_PER_FORWARD = 1024
"""Bulk speed in tokens/s by the size of a forward, all-MiniLM-L6-v2, one core: 128: 3125, 256: 3313, 512: 3493,
1024: 3595, 2048: 3526; beyond it the activations leave the cache and memory grows."""

_PLAIN_SETTINGS = {"transformer_task": "feature-extraction", "do_lower_case": False, "module_output_name": "token_embeddings"}
_FREE_SETTINGS = {"max_seq_length"}
_DAMAGED = (
    "The model file {} cannot be read: {}. Fetch the model again with `scrubjay pull`, or reinstall Scrubjay if it is the bundled one."
)
_TEXT_ONLY = {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}


def why_not_light(folder: ModelFolder) -> str | None:
    """What keeps a model from the light runtime, as the end of a sentence, or None when nothing does."""
    if folder.kinds not in (("Transformer", "Pooling"), ("Transformer", "Pooling", "Normalize")):
        return f"its modules are {', '.join(folder.kinds) or 'not listed'}"
    pooling = folder.modules[1].settings
    if folder.pooling not in ("mean", "cls") or not pooling.get("include_prompt", True):
        return f"its pooling is {folder.pooling}"
    settings = {**_PLAIN_SETTINGS, "modality_config": _TEXT_ONLY, **folder.transformer}
    expected = {**_PLAIN_SETTINGS, "modality_config": _TEXT_ONLY}
    odd = [key for key, value in settings.items() if key not in _FREE_SETTINGS and value and value != expected.get(key)]
    if odd:
        return f"it sets {', '.join(sorted(odd))}"
    root = folder.modules[0].path
    if not (root / "tokenizer.json").is_file():
        return "it has no tokenizer.json"
    return why_not(folder.config, root / "model.safetensors")


class LightEncoder:
    """An encoder on mapped weights; opening it costs some 20 ms and reads only the pages that a text touches.

    Raises:
        EncoderError: the tokenizer or the weights are damaged.
    """

    def __init__(self, folder: ModelFolder, space: Space) -> None:
        self.space = space
        root = folder.modules[0].path
        try:
            self._tokenizer = Tokenizer.from_file(str(root / "tokenizer.json"))
        except Exception as error:  # tokenizers raises nothing narrower for a file that it cannot read
            raise EncoderError(_DAMAGED.format(root / "tokenizer.json", error)) from error
        try:
            self._bert = Bert(folder.config, root / "model.safetensors")
        except (OSError, ValueError) as error:
            raise EncoderError(_DAMAGED.format(root / "model.safetensors", error)) from error
        # Files may carry settings of their training: the bundled one pads every text to 128 tokens and cuts it there.
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        if space.max_seq_length is not None:
            self._tokenizer.enable_truncation(space.max_seq_length)
        self._blas = ThreadpoolController().select(user_api="blas")

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of stored texts: shape (len(texts), dim), each row of length 1."""
        return self._embed([self.space.document_prompt + text for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of one question: shape (dim,), of length 1."""
        return self._embed([self.space.query_prompt + text])[0]

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), self.space.dim), np.float32)
        # With more threads a forward got slower, by up to 16 times on a busy machine: they wait for each other.
        with self._blas.limit(limits=1):
            for row, states in enumerate(self._token_states(texts)):
                # The mean needs no division by the count: the vector's length is made 1 right after.
                pooled = states[:, 0] if self.space.pooling == "cls" else states.sum(axis=1)
                vectors[row] = pooled / np.linalg.norm(pooled)
        return vectors

    def _token_states(self, texts: Sequence[str]) -> Iterator[NDArray[np.float32]]:
        """For each text in turn the last hidden states of its tokens, shape (hidden size, tokens)."""
        for batch in _batches([self._tokenizer.encode(text).ids for text in texts]):
            states = self._bert.hidden_states(batch)
            yield from np.split(states, np.cumsum([len(ids) for ids in batch])[:-1], axis=1)


def _batches(texts: Sequence[Sequence[int]]) -> Iterator[list[Sequence[int]]]:
    """Runs of texts with at most `TOKENS_PER_FORWARD` tokens together; a longer text is alone."""
    batch: list[Sequence[int]] = []
    tokens = 0
    for ids in texts:
        if batch and tokens + len(ids) > TOKENS_PER_FORWARD:
            yield batch
            batch, tokens = [], 0
        batch.append(ids)
        tokens += len(ids)
    if batch:
        yield batch
