"""A small BERT with random weights, made by transformers, for long tests of models other than the bundled
one.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from scrubjay.encoders.bundled import FOLDER, VOCABULARY


def save_bert(folder: Path, *, layers: int = 3, half: bool = False) -> Path:
    """A BERT of 64 dimensions with CLS pooling, the same weights in every run; `half` stores 16-bit floats."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(7)
    config = BertConfig(
        hidden_size=64,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=64,
        initializer_range=0.3,
    )
    model = BertModel(config)
    (model.half() if half else model).save_pretrained(folder)
    shutil.copy(FOLDER / VOCABULARY, folder)
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    modules = [
        {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for place, (path, kind) in enumerate(kinds.items())
    ]
    settings: dict[str, object] = {
        "modules.json": modules,
        "tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "model_max_length": 512},
        "sentence_bert_config.json": {"max_seq_length": 48, "do_lower_case": False},
        "1_Pooling/config.json": {
            "word_embedding_dimension": 64,
            "pooling_mode_cls_token": True,
            "pooling_mode_mean_tokens": False,
        },
        "config_sentence_transformers.json": {"prompts": {"query": "question: "}},
    }
    for name, content in settings.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content), "utf-8")
    return folder
