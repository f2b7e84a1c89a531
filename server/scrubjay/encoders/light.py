"""The light runtime: BERT models of sentence-transformers with numpy and tokenizers, and no torch."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]
from tokenizers import Tokenizer

from scrubjay.encoders.bert import Bert, why_not
from scrubjay.encoders.bundled import UNKNOWN, UNREAD, _telling
from scrubjay.encoders.folder import ModelFolder
from scrubjay.encoders.protocol import Space
from scrubjay.encoders.token_codes import EncodedQuery, EncodedTexts, signs
from scrubjay.errors import EncoderError

TOKENS_PER_FORWARD = 1024
"""Tokens in one forward.

Bulk speed in tokens/s by this size, all-MiniLM-L6-v2, one core: 128: 3125, 256: 3313, 512: 3493, 1024: 3595,
2048: 3526; beyond it the activations leave the cache and memory grows.
"""

_PLAIN_SETTINGS = {
    "transformer_task": "feature-extraction",
    "do_lower_case": False,
    "module_output_name": "token_embeddings",
}
_FREE_SETTINGS = {"max_seq_length"}
_DAMAGED = (
    "The model file {} cannot be read: {}. "
    "Fetch the model again with `scrubjay pull`, or reinstall Scrubjay if it is the bundled one."
)
_TEXT_ONLY = {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}


def why_not_light(folder: ModelFolder) -> str | None:
    """Return what keeps a model from the light runtime, as the end of a sentence, or None."""
    if folder.kinds not in (("Transformer", "Pooling"), ("Transformer", "Pooling", "Normalize")):
        return f"its modules are {', '.join(folder.kinds) or 'not listed'}"
    pooling = folder.modules[1].settings
    if folder.pooling not in ("mean", "cls") or not pooling.get("include_prompt", True):
        return f"its pooling is {folder.pooling}"
    settings = {**_PLAIN_SETTINGS, "modality_config": _TEXT_ONLY, **folder.transformer}
    expected = {**_PLAIN_SETTINGS, "modality_config": _TEXT_ONLY}
    odd = [
        key
        for key, value in settings.items()
        if key not in _FREE_SETTINGS and value and value != expected.get(key)
    ]
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

    parallel = True  # a forward allocates what it writes to, and no call changes this tokenizer

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
        self._unknown = self._tokenizer.token_to_id(UNKNOWN)
        # Files may carry settings of their training: the bundled one pads every text to 128 tokens and cuts
        # it there.
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        if space.max_seq_length is not None:
            self._tokenizer.enable_truncation(space.max_seq_length)
        # With more threads a forward got slower, by up to 16 times on a busy machine: they wait for each
        # other. Set once and for the process, because two threads that each set and reset it around a forward
        # would undo one another.
        ThreadpoolController().select(user_api="blas").limit(limits=1)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed stored texts: shape (len(texts), dim), each row of length 1."""
        vectors = np.empty((len(texts), self.space.dim), np.float32)
        for row, (states, _) in enumerate(self._read(self.space.document_prompt, texts)):
            vectors[row] = self._pooled(states)
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed one question: shape (dim,), of length 1."""
        ((states, _),) = self._read(self.space.query_prompt, [text])
        return self._pooled(states)

    def embed_passages(self, texts: Sequence[str]) -> EncodedTexts:
        """Embed as `embed_documents` does, with the codes of the tokens that say something."""
        vectors, codes = np.empty((len(texts), self.space.dim), np.float32), []
        for row, (states, telling) in enumerate(self._read(self.space.document_prompt, texts)):
            vectors[row] = self._pooled(states)
            codes.append(signs(states[:, telling]).tobytes())
        return EncodedTexts(vectors, tuple(codes))

    def embed_question(self, text: str) -> EncodedQuery:
        """Embed as `embed_query` does, with the codes of the tokens, None if none says anything.

        A question that the model cannot read gets the zero vector.
        """
        if self._unread(text) > UNREAD:
            return EncodedQuery(np.zeros(self.space.dim, np.float32), None)
        ((states, telling),) = self._read(self.space.query_prompt, [text])
        return EncodedQuery(self._pooled(states), signs(states[:, telling]) if telling.any() else None)

    def _unread(self, text: str) -> float:
        """Return the share of the text's letters in tokens that the vocabulary lacks, in [0, 1]."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        spans = zip(encoding.ids, encoding.offsets, strict=True)
        unknown = "".join(text[start:end] for token, (start, end) in spans if token == self._unknown)
        letters = sum(map(str.isalpha, text))
        return sum(map(str.isalpha, unknown)) / letters if letters else 0.0

    def _pooled(self, states: NDArray[np.float32]) -> NDArray[np.float32]:
        # The mean needs no division by the count: the vector's length is made 1 right after.
        pooled = states[:, 0] if self.space.pooling == "cls" else states.sum(axis=1)
        return pooled / np.linalg.norm(pooled)

    def _read(
        self, prompt: str, texts: Sequence[str]
    ) -> Iterator[tuple[NDArray[np.float32], NDArray[np.bool_]]]:
        """Yield each text's last hidden states, shape (hidden size, tokens), and which tokens count."""
        encodings = [self._tokenizer.encode(prompt + text) for text in texts]
        token_states = self._token_states([each.ids for each in encodings])
        for encoding, states in zip(encodings, token_states, strict=True):
            yield states, _telling(encoding, len(prompt))

    def _token_states(self, texts: Sequence[Sequence[int]]) -> Iterator[NDArray[np.float32]]:
        """Yield each text's last hidden states, shape (hidden size, tokens); texts are token ids."""
        for batch in _batches(texts):
            states = self._bert.hidden_states(batch)
            yield from np.split(states, np.cumsum([len(ids) for ids in batch])[:-1], axis=1)


def _batches(texts: Sequence[Sequence[int]]) -> Iterator[list[Sequence[int]]]:
    """Group texts of at most `TOKENS_PER_FORWARD` tokens together; a longer text is alone."""
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
