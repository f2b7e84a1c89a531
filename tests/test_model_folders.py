"""Model folders that are missing, altered, damaged or of another kind: each is named, with what to do."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from berts import bundled_model, small_bert, verdicts

from scrubjay.encoders import bundled, open_encoder
from scrubjay.encoders.bundled import check_files
from scrubjay.encoders.folder import read_folder
from scrubjay.encoders.light import why_not_light
from scrubjay.errors import EncoderError

__all__ = ["bundled_model", "small_bert", "verdicts"]  # fixtures


@pytest.mark.parametrize(
    ("file", "change", "reason"),
    [
        ("config.json", {"hidden_act": "relu"}, "its hidden_act is 'relu', not 'gelu'"),
        ("config.json", {"model_type": "modernbert"}, "its model_type is 'modernbert', not 'bert'"),
        ("config.json", {"position_embedding_type": "relative_key"}, "its attention is not BERT's"),
        ("config.json", {"hidden_size": None}, "its hidden_size is not stated"),
        (
            "config.json",
            {"num_hidden_layers": 4},
            "its tensor encoder.layer.3.attention.self.query.weight is missing",
        ),
        ("sentence_bert_config.json", {"do_lower_case": True}, "it sets do_lower_case"),
        (
            "1_Pooling/config.json",
            {"pooling_mode_cls_token": False, "pooling_mode_max_tokens": True},
            "its pooling is max",
        ),
    ],
)
def test_a_model_of_another_kind_does_not_go_the_light_way(
    tmp_path: Path, small_bert: Path, file: str, change: dict[str, object], reason: str
) -> None:
    folder = Path(shutil.copytree(small_bert, tmp_path / "changed"))
    settings = json.loads((folder / file).read_text("utf-8"))
    (folder / file).write_text(json.dumps({**settings, **change}), "utf-8")
    assert why_not_light(read_folder(folder, "x")) == reason


def test_an_altered_or_missing_file_of_the_bundled_model_is_refused(tmp_path: Path) -> None:
    folder, verdicts = tmp_path / "minilm", tmp_path / "models.json"
    shutil.copytree(bundled.FOLDER, folder)
    check_files(verdicts, folder)
    with (folder / "model.bin").open("r+b") as file:
        file.seek(5_000_000)
        file.write(b"\x01\x02")
    expected = bundled.DIGESTS["model.bin"]
    with pytest.raises(
        EncoderError, match=rf"altered: .*{expected}.*--force-reinstall.*scrubjay config model"
    ):
        check_files(verdicts, folder)
    (folder / "model.onnx").unlink()
    with pytest.raises(EncoderError, match="cannot be read: No such file"):
        check_files(verdicts, folder)


def test_a_folder_that_is_missing_or_holds_no_model_is_refused(tmp_path: Path, small_bert: Path) -> None:
    verdicts = tmp_path / "models.json"
    with pytest.raises(EncoderError, match="does not exist"):
        open_encoder(str(tmp_path / "nowhere"), verdicts=verdicts)
    (tmp_path / "empty").mkdir()
    with pytest.raises(EncoderError, match="holds no model"):
        open_encoder(str(tmp_path / "empty"), verdicts=verdicts)
    bare = Path(
        shutil.copytree(small_bert, tmp_path / "bare", ignore=shutil.ignore_patterns("*.safetensors"))
    )
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


@pytest.mark.long
def test_a_model_that_sentence_transformers_cannot_load_is_an_error_that_names_it(
    tmp_path: Path, small_bert: Path
) -> None:
    folder = Path(shutil.copytree(small_bert, tmp_path / "strange"))
    settings = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(
        json.dumps({**settings, "model_type": "no-such-architecture"}), "utf-8"
    )
    encoder = open_encoder(str(folder), verdicts=tmp_path / "models.json")
    with pytest.raises(EncoderError, match=r"The model strange in .* cannot be loaded"):
        encoder.embed_query("text")
