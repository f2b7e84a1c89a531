"""Models exported to ONNX, run by onnxruntime without torch: folders with `onnx/*.onnx` and `tokenizer.json`.

They may have mean or CLS pooling and dense layers without activation; torch runs any other model.
"""

import json
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrubjay.encoders.folder import ModelFolder, cannot_load, digest, modules, prompts_of
from scrubjay.encoders.onnx_tokens import OnnxTokenEncoder, Run, open_session
from scrubjay.encoders.protocol import Space
from scrubjay.encoders.token_codes import is_content_token

# The usual name of the export with 32-bit floats, which is preferred to quantised ones.
GRAPH = "onnx/model.onnx"
TOKENIZER = "tokenizer.json"
_LIMITS = (  # where a model may say how many tokens it reads; the first limit counts
    ("sentence_bert_config.json", "max_seq_length"),
    ("tokenizer_config.json", "model_max_length"),
    ("config.json", "max_position_embeddings"),
)
_MOST = 8192  # tokens; a tokenizer without a limit states a huge number
_MODES = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
_IDENTITY = "torch.nn.modules.linear.Identity"


def preferred(names: Iterable[str]) -> str | None:
    """Choose the ONNX file to run from the relative paths of a model's files, or return None."""
    graphs = [name for name in names if name.startswith("onnx/") and name.endswith(".onnx")]
    return min(graphs, key=lambda name: (name != GRAPH, name), default=None)


def graph_file(folder: Path) -> Path | None:
    """Return the ONNX file of a folder to run, or None if it lacks a file or has parts that need torch."""
    name = preferred(file.relative_to(folder).as_posix() for file in folder.glob("onnx/*.onnx"))
    is_complete = name is not None and (folder / TOKENIZER).is_file() and _pooling(folder) is not None
    return folder / name if name and is_complete else None


class OnnxEncoder(OnnxTokenEncoder):
    """Runs the graph of a folder.

    `query_prompt` and `document_prompt` are the user's, as in `open_encoder`.

    Raises:
        EncoderError: a file is missing or damaged, or the model has parts that only torch runs.
    """

    def __init__(
        self, folder: ModelFolder, graph: Path, query_prompt: str | None, document_prompt: str | None
    ) -> None:
        try:
            self._open(folder.path, graph)
        except Exception as error:  # on bad files, the two libraries may raise any exception
            raise cannot_load(folder, error) from error
        settings = _read_json(folder.path / "config_sentence_transformers.json")
        own = settings.get("prompts", {}), settings.get("default_prompt_name")
        prompts = prompts_of(folder.reference, *own, query_prompt, document_prompt)
        weight_files = {graph, *graph.parent.glob(f"{graph.name}_data*"), *folder.path.glob("[0-9]*_*/*")}
        self.space = Space(
            model=folder.reference,
            weights=digest(folder, weight_files),
            tokenizer=digest(folder, {folder.path / TOKENIZER}),
            dim=len(self._vector(self.states("a text"))),
            pooling=self._pooling,
            max_seq_length=self._longest,
            query_prompt=prompts.query,
            document_prompt=prompts.document,
            precision="fp32" if graph.name == Path(GRAPH).name else "int8",
        )

    def places(self, text: str) -> list[tuple[int, int]]:
        """Return the positions in a text of the tokens for which `embed_passages` returns codes."""
        start = len(self.space.document_prompt)
        encoding = self._tokenizer.encode(self.space.document_prompt + text)
        spans = [encoding.offsets[index] for index in np.flatnonzero(content_tokens(encoding, start))]
        return [(max(first - start, 0), last - start) for first, last in spans]

    def states(self, text: str) -> NDArray[np.float32]:
        """Return the last hidden states of a text without a prompt, shape (tokens, width)."""
        return self._run(self._tokenizer.encode(text))

    def _open(self, folder: Path, graph: Path) -> None:
        from tokenizers import Tokenizer

        self._pooling = _pooling(folder) or "mean"
        self._dense = [_matrix(path) for kind, path in _parts(folder) if kind == "Dense"]
        self._longest = _token_limit(folder)
        self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(self._longest)
        self._session = open_session(graph)
        self._inputs = {node.name for node in self._session.get_inputs()}
        # The first output has the states of all tokens; its name differs between exports.
        self._output = self._session.get_outputs()[0].name

    def _run(self, encoding: Any) -> NDArray[np.float32]:
        inputs = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        arrays = {name: np.array([ids], np.int64) for name, ids in inputs.items() if name in self._inputs}
        ((states,),) = self._session.run([self._output], arrays)
        return np.asarray(states, np.float32)

    def _vector(self, states: NDArray[np.float32]) -> NDArray[np.float32]:
        vector = states[0] if self._pooling == "cls" else states.mean(axis=0)
        for matrix, bias in self._dense:
            vector = matrix @ vector + bias
        normal: NDArray[np.float32] = vector / np.linalg.norm(vector)
        return normal

    def _read(self, prompt: str, text: str) -> Run:
        encoding = self._tokenizer.encode(prompt + text)
        states = self._run(encoding)
        return Run(self._vector(states), states[content_tokens(encoding, len(prompt))])


def content_tokens(encoding: Any, start: int) -> NDArray[np.bool_]:
    """Mark the content tokens of an encoded text, which begins at `start`, after a prompt."""
    kinds = zip(encoding.tokens, encoding.offsets, encoding.special_tokens_mask, strict=True)
    return np.array(
        [not special and last > start and is_content_token(token) for token, (_, last), special in kinds],
        dtype=bool,
    )


def _parts(folder: Path) -> Iterator[tuple[str, Path]]:
    for part in modules(folder):
        yield part["type"].rsplit(".", 1)[-1], folder / part["path"]


def _pooling(folder: Path) -> str | None:
    """Return `mean` or `cls`; None if the model has another pooling, or parts that only torch runs.

    Without a list of modules the pooling is `mean`, as in sentence-transformers.
    """
    mode = "mean"
    for kind, path in _parts(folder):
        settings = _read_json(path / "config.json")
        if kind == "Pooling":
            modes = [name for name in settings if name.startswith("pooling_mode_") and settings[name] is True]
            mode = _MODES.get(" ".join(modes), "another") if modes else settings.get("pooling_mode", "mean")
        is_linear = settings.get("activation_function", _IDENTITY) == _IDENTITY
        if kind not in ("Transformer", "Pooling", "Dense", "Normalize") or (
            kind == "Dense" and not is_linear
        ):
            return None
    return mode if mode in ("mean", "cls") else None


def _token_limit(folder: Path) -> int:
    limits = (_read_json(folder / file).get(name) for file, name in _LIMITS)
    return min(next((int(limit) for limit in limits if limit), _MOST), _MOST)


def _matrix(folder: Path) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Read a dense layer's matrix and bias.

    Raises:
        ValueError: its numbers are not 32-bit floats.
    """
    content = (folder / "model.safetensors").read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    tensors = {}
    for name, entry in json.loads(content[8 : 8 + length]).items():
        if name != "__metadata__":
            if entry["dtype"] != "F32":
                raise ValueError(f"its dense layer has {entry['dtype']} instead of F32")
            first, last = (8 + length + offset for offset in entry["data_offsets"])
            tensors[name] = np.frombuffer(content[first:last], np.float32).reshape(entry["shape"])
    matrix = tensors["linear.weight"]
    return matrix, tensors.get("linear.bias", np.zeros(len(matrix), np.float32))


def _read_json(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    return content
