"""The forward pass of a BERT encoder in numpy over mapped weights: token ids in, last hidden states out.

Everything is feature-major, (features, tokens): a weight matrix of shape (out, in) then multiplies from
the left as it lies in the file. OpenBLAS does 53 GFLOP/s that way on a question of 12 tokens and 35 in the
usual `x @ W.T`, and no weight is copied. Texts of one forward stand side by side without padding: only
attention knows where one ends, so neither a mask nor sorting by length is needed, and a text's vector does
not depend on its neighbours.
"""

import json
import math
import mmap
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

_GELU_BLOCK = 16_384  # numbers; three scratch arrays of that size stay in a core's second-level cache
_SCORES_BLOCK = 65_536  # numbers; heads are taken together while their attention scores stay below it
_SMALL_PRODUCT = 1_000_000  # multiplications; up to here OpenBLAS has kernels that skip packing the matrices
_FEW_TOKENS = 32  # beyond, packing pays for itself on some processors
_EMBEDDINGS = (
    "embeddings.word_embeddings.weight",
    "embeddings.position_embeddings.weight",
    "embeddings.token_type_embeddings.weight",
)
_LINEAR = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attended": "attention.output.dense",
    "wide": "intermediate.dense",
    "narrow": "output.dense",
}
_SIZES = ("hidden_size", "intermediate_size", "num_attention_heads", "num_hidden_layers")
_NORMS = {"attention_norm": "attention.output.LayerNorm", "output_norm": "output.LayerNorm"}
_DTYPES = dict(F64="<f8", F32="<f4", F16="<f2", I64="<i8", I32="<i4", I16="<i2", I8="i1", U8="u1", BOOL="?")
# erf by Abramowitz & Stegun 7.1.26, |error| <= 1.5e-7, with the halves of GELU folded into the coefficients:
# gelu(x) = max(x, 0) - |x| (1 - erf(|x| / sqrt 2)) / 2.
_ERF_P = np.float32(0.3275911 / 2**0.5)
_ERF_A = tuple(np.float32(a / 2) for a in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592))


@dataclass(frozen=True)
class _Affine:
    """A matrix (out, in) and its bias, or the scale and shift of a LayerNorm, as columns."""

    weight: Array
    bias: Array

    def __call__(self, x: Array, out: Array) -> Array:
        _multiply(self.weight, x, out)
        out += self.bias
        return out


def why_not(config: dict[str, Any], weights: Path) -> str | None:
    """Return what keeps a model from this forward, or None; read the header of `weights` only."""
    expected = {"model_type": "bert", "hidden_act": "gelu"}
    for key, value in expected.items():
        if config.get(key) != value:
            return f"its {key} is {config.get(key)!r}, not {value!r}"
    for key in _SIZES:
        if not isinstance(config.get(key), int):
            return f"its {key} is not stated"
    if (
        config.get("position_embedding_type", "absolute") != "absolute"
        or config.get("is_decoder")
        or config.get("add_cross_attention")
    ):
        return "its attention is not BERT's"
    if not weights.is_file():
        return f"it has no {weights.name}"
    try:
        entries, _ = header(weights)
    except ValueError as error:
        return str(error)
    dtypes = {_bare(name): entry["dtype"] for name, entry in entries.items()}
    for name in _names(config["num_hidden_layers"]):
        if dtypes.get(name) not in ("F32", "F16"):
            return f"its tensor {name} is {dtypes.get(name, 'missing')}"
    return None


class Bert:
    """A BERT encoder on mapped weights. Threads may share it, for it keeps no state between calls.

    Raises:
        ValueError: the weights file is damaged.
    """

    def __init__(self, config: dict[str, Any], weights: Path) -> None:
        tensor_of = {_bare(name): tensor for name, tensor in tensors(weights).items()}
        self.dim: int = config["hidden_size"]
        self._wide: int = config["intermediate_size"]
        self._heads: int = config["num_attention_heads"]
        self._epsilon = np.float32(config.get("layer_norm_eps", 1e-12))
        self._scale = np.float32((self.dim // self._heads) ** -0.5)
        # The tables of embeddings stay as they are, even in F16: rows are converted when they are read.
        self._words, self._positions, self._types = (tensor_of[name] for name in _EMBEDDINGS)
        self._embedding_norm = _affine(tensor_of, "embeddings.LayerNorm", column=True)
        self._layers = [
            {short: _affine(tensor_of, f"encoder.layer.{layer}.{name}") for short, name in _LINEAR.items()}
            | {
                short: _affine(tensor_of, f"encoder.layer.{layer}.{name}", column=True)
                for short, name in _NORMS.items()
            }
            for layer in range(config["num_hidden_layers"])
        ]

    def hidden_states(self, texts: Sequence[Sequence[int]]) -> Array:
        """Return the last hidden states of texts (token ids): shape (dim, all tokens), text after text.

        Each text needs at least one token and at most as many as the model has positions.
        """
        lengths = [len(ids) for ids in texts]
        ends = np.cumsum(lengths).tolist()
        spans = [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]
        x = self._embed(texts, lengths)
        query, key, value, mixed = (np.empty_like(x) for _ in range(4))
        wide = np.empty((self._wide, x.shape[1]), np.float32)
        for layer in self._layers:
            layer["query"](x, out=query)
            query *= self._scale
            layer["key"](x, out=key)
            layer["value"](x, out=value)
            for span in spans:
                self._attend(query[:, span], key[:, span], value[:, span], out=mixed[:, span])
            x += layer["attended"](mixed, out=query)
            self._normalise(x, layer["attention_norm"], scratch=query)
            _multiply(layer["wide"].weight, x, out=wide)
            _add_bias_and_gelu(wide, layer["wide"].bias)
            x += layer["narrow"](wide, out=query)
            self._normalise(x, layer["output_norm"], scratch=query)
        return x

    def _embed(self, texts: Sequence[Sequence[int]], lengths: list[int]) -> Array:
        rows = self._words[np.concatenate(texts)].astype(np.float32, copy=False)
        # Every row that is read makes 16 pages resident: 35 MB of the table after a while. This takes 50
        # microseconds.
        let_go(self._words)
        rows += self._positions[np.concatenate([np.arange(length) for length in lengths])]
        rows += self._types[0]
        x = np.ascontiguousarray(rows.T)
        self._normalise(x, self._embedding_norm, scratch=np.empty_like(x))
        return x

    def _attend(self, query: Array, key: Array, value: Array, out: Array) -> None:
        """Attend within one text, head by head; `query` comes scaled, all arrays are (dim, tokens)."""
        tokens = query.shape[1]
        shape = (self._heads, self.dim // self._heads, tokens)
        # These are views: splitting the rows into heads needs no copy.
        query, key, value, out = (x.reshape(shape) for x in (query, key, value, out))
        together = max(1, _SCORES_BLOCK // tokens**2)
        for first in range(0, self._heads, together):
            heads = slice(first, first + together)
            scores = np.matmul(key[heads].transpose(0, 2, 1), query[heads])
            scores -= scores.max(axis=1, keepdims=True)
            np.exp(scores, out=scores)
            np.matmul(value[heads], scores, out=out[heads])
            out[heads] /= scores.sum(axis=1, keepdims=True)

    def _normalise(self, x: Array, norm: _Affine, scratch: Array) -> None:
        """Apply LayerNorm over the features of each token, in place."""
        share = np.float32(1 / self.dim)
        x -= x.sum(axis=0) * share
        np.multiply(x, x, out=scratch)
        x *= 1 / np.sqrt(scratch.sum(axis=0) * share + self._epsilon)
        x *= norm.weight
        x += norm.bias


def _multiply(weight: Array, x: Array, out: Array) -> None:
    """Compute out = weight @ x; for a question in blocks that suit OpenBLAS's unpacked kernels.

    numpy runs over the blocks in C, and they are views. With AVX-512 the products of a question take 4.1 ms
    that way instead of 7.9 (12 tokens of all-MiniLM-L6-v2) and 7.5 instead of 10.4 (32 tokens); with AVX2,
    where BLAS has no such kernels, they take as long as before, and 6 % longer at 32 tokens.
    """
    rows, width = weight.shape
    tokens = x.shape[1]
    if tokens > _FEW_TOKENS:
        np.matmul(weight, x, out=out)
        return
    block = rows
    while block % 2 == 0 and block * width * tokens > _SMALL_PRODUCT:
        block //= 2
    np.matmul(weight.reshape(-1, block, width), x, out=out.reshape(-1, block, tokens))


def _add_bias_and_gelu(x: Array, bias: Array) -> None:
    """Compute x = gelu(x + bias) in place, a few rows at a time: its twenty passes then run in the cache."""
    rows = max(1, _GELU_BLOCK // x.shape[1])
    scratch = np.empty((3, rows, x.shape[1]), np.float32)
    for first in range(0, len(x), rows):
        block = x[first : first + rows]
        size, t, tail = scratch[:, : len(block)]
        block += bias[first : first + rows]
        np.abs(block, out=size)
        np.multiply(size, _ERF_P, out=t)
        t += np.float32(1)
        np.reciprocal(t, out=t)
        np.multiply(t, _ERF_A[0], out=tail)
        for a in _ERF_A[1:]:
            tail += a
            tail *= t
        np.multiply(block, block, out=t)
        t *= np.float32(-0.5)
        np.exp(t, out=t)
        tail *= t
        tail *= size
        np.maximum(block, np.float32(0), out=block)
        block -= tail


def _affine(tensor_of: dict[str, NDArray[Any]], name: str, column: bool = False) -> _Affine:
    weight, bias = (tensor_of[f"{name}.{part}"].astype(np.float32, copy=False) for part in ("weight", "bias"))
    return _Affine(weight[:, None] if column else weight, bias[:, None])


def _bare(name: str) -> str:
    """Return a tensor's name without the prefix that it has in files saved with a head."""
    return re.sub(r"^bert\.", "", name)


def _names(layers: int) -> list[str]:
    """List the names of all tensors that the forward reads."""
    stages = [
        f"encoder.layer.{layer}.{name}"
        for layer in range(layers)
        for name in (*_LINEAR.values(), *_NORMS.values())
    ]
    return [
        *_EMBEDDINGS,
        *(f"{stage}.{part}" for stage in ["embeddings.LayerNorm", *stages] for part in ("weight", "bias")),
    ]


def header(file: Path) -> tuple[dict[str, dict[str, Any]], int]:
    """Read a file's entries by tensor name (`dtype`, `shape`, `data_offsets`), and where its data begins.

    Raises:
        ValueError: the file is no safetensors file, or is cut short.
    """
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if not 0 < length < file.stat().st_size:
            raise ValueError(f"{file.name} has no safetensors header")
        entries = json.loads(stream.read(length))
    entries.pop("__metadata__", None)
    return entries, 8 + length


def tensors(file: Path) -> dict[str, NDArray[Any]]:
    """Map the tensors of a file by name, as read-only views, so that pages are shared and reclaimable.

    Types that numpy does not have (bfloat16, float8) are left out.

    Raises:
        ValueError: the file is no safetensors file, or is cut short.
    """
    entries, start = header(file)
    with file.open("rb") as stream:
        mapped = np.frombuffer(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    views = {}
    for name, entry in entries.items():
        dtype = _DTYPES.get(entry["dtype"])
        if dtype is None:
            continue
        begin, end = (start + offset for offset in entry["data_offsets"])
        if end > len(mapped) or end - begin != math.prod(entry["shape"]) * np.dtype(dtype).itemsize:
            raise ValueError(f"tensor {name} of {file.name} is cut short")
        views[name] = mapped[begin:end].view(dtype).reshape(entry["shape"])
    return views


def let_go(tensor: NDArray[Any]) -> None:
    """Drop a tensor's pages from this process; the system's cache has them, and a read brings them back.

    Only whole pages inside the tensor are dropped. Does nothing where the system has no madvise (Windows).
    """
    whole: Any = tensor
    while isinstance(whole, np.ndarray) and isinstance(whole.base, np.ndarray):
        whole = whole.base
    mapped = whole.base.obj if isinstance(whole.base, memoryview) else None
    if not (isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED")):
        return
    begin = tensor.ctypes.data - whole.ctypes.data
    first = -(-begin // mmap.PAGESIZE) * mmap.PAGESIZE
    length = (begin + tensor.nbytes - first) // mmap.PAGESIZE * mmap.PAGESIZE
    if length > 0:
        mapped.madvise(mmap.MADV_DONTNEED, first, length)
