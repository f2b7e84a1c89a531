"""A model's folder as sentence-transformers saves it: modules, pooling, limits, prompts, file digests.

It loads no weights. The identity of the space comes from the files alone, so that it is the same under every
runtime.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrubjay.encoders.digests import sha256
from scrubjay.encoders.protocol import Space
from scrubjay.errors import EncoderError

_LEGACY_POOLING = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
_TOKENIZER_FILES = (
    "tokenizer* vocab* merges.txt special_tokens_map.json added_tokens.json *.model *.spm".split()
)
_UNREADABLE = "The model file {} cannot be read: {}. Fetch the model again with `scrubjay pull`."
_WIDTH_KEYS = ("hidden_size", "d_model", "n_embd", "dim", "embedding_size")
_ENGLISH_SEARCH = "Represent this sentence for searching relevant passages: "
_DOCUMENT_NAMES = ("document", "passage", "corpus")


@dataclass(frozen=True)
class Prompts:
    """Prefixes of a question and of a stored text; empty if there is none."""

    query: str = ""
    document: str = ""


# The model cards of these families tell the reader to add the prefix; their settings do not carry it, so
# sentence-transformers adds none. Prefixes as stated in the cards of the named models.
_FAMILIES: tuple[tuple[re.Pattern[str], Prompts], ...] = (
    (re.compile(r"\bbge-(small|base|large)-en(-v1\.5)?\b"), Prompts(query=_ENGLISH_SEARCH)),
    (
        re.compile(r"\b(multilingual-)?e5-(small|base|large)(-v2)?\b(?!-instruct)"),
        Prompts(query="query: ", document="passage: "),
    ),
    (
        re.compile(r"\bsnowflake-arctic-embed-(xs|s|m|l|m-long|m-v1\.5)\b(?!-v2)"),
        Prompts(query=_ENGLISH_SEARCH),
    ),
)


@dataclass(frozen=True)
class Module:
    """One stage of a model: the last word of its class (`Transformer`, ...), its folder and settings."""

    kind: str
    path: Path
    settings: dict[str, Any]


@dataclass(frozen=True)
class ModelFolder:
    """A model on disk. `reference` is its name: `bundled`, a hub id with its commit, or the folder's name."""

    path: Path
    reference: str
    modules: tuple[Module, ...]
    config: dict[str, Any]
    transformer: dict[str, Any]
    prompts: Prompts
    max_seq_length: int | None

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the modules, in order."""
        return tuple(module.kind for module in self.modules)

    @property
    def pooling(self) -> str:
        """The pooling modes, joined by `+`; the mean if no module names any."""
        modes = [_pooling_mode(module.settings) for module in self.modules if module.kind == "Pooling"]
        return modes[0] if modes else "mean"

    @property
    def dim(self) -> int | None:
        """The width of the vectors, or None if only the loaded model can tell."""
        dense = [module.settings.get("out_features") for module in self.modules if module.kind == "Dense"]
        if dense:
            return dense[-1]
        settings = {**self.config.get("text_config", {}), **self.config}
        width = next((settings[key] for key in _WIDTH_KEYS if isinstance(settings.get(key), int)), None)
        return width and width * (self.pooling.count("+") + 1)


def read_folder(path: Path, reference: str) -> ModelFolder:
    """Read a model folder's settings.

    Raises:
        EncoderError: a file that every model has is missing, or one of them is not JSON.
    """
    if not (path / "config.json").is_file() and not (path / "modules.json").is_file():
        raise EncoderError(
            f"The folder {path} holds no model: neither config.json nor modules.json is there. "
            "Name a folder as sentence-transformers saves it, or fetch the model with `scrubjay pull`."
        )
    try:
        modules = tuple(
            Module(
                entry["type"].rpartition(".")[2],
                path / entry["path"],
                _json(path / entry["path"] / "config.json"),
            )
            for entry in _json(path / "modules.json", [])
        )
    except (KeyError, TypeError) as error:
        reason = "an entry has no type or path"
        raise EncoderError(_UNREADABLE.format(path / "modules.json", reason)) from error
    root = modules[0].path if modules else path
    config, transformer = _json(root / "config.json"), _json(root / "sentence_bert_config.json")
    return ModelFolder(
        path=path,
        reference=reference,
        modules=modules,
        config=config,
        transformer=transformer,
        prompts=own_prompts(_json(path / "config_sentence_transformers.json")),
        max_seq_length=_max_seq_length(config, transformer, _json(root / "tokenizer_config.json")),
    )


def weight_files(folder: ModelFolder) -> list[Path]:
    """List the weight files of all modules: safetensors, or PyTorch's own if a module has none."""
    files: set[Path] = set()
    for place in {folder.path, *(module.path for module in folder.modules)}:
        files.update(sorted(place.glob("*.safetensors")) or place.glob("pytorch_model*.bin"))
    return sorted(files)


def space_of(folder: ModelFolder, prompts: Prompts, dim: int, verdicts: Path) -> Space:
    """Return the identity of the vectors that `folder` gives under `prompts`.

    Raises:
        EncoderError: the folder holds no weights, or one of its files cannot be read.
    """
    weights = weight_files(folder)
    if not weights:
        raise EncoderError(
            f"The folder {folder.path} holds no weights (*.safetensors or pytorch_model.bin). "
            "The download may have been cut short: fetch the model again with `scrubjay pull`."
        )
    places = {folder.path, *(module.path for module in folder.modules)}
    shaping = [*weights, *(place / "config.json" for place in places), folder.path / "modules.json"]
    wording = {file for place in places for pattern in _TOKENIZER_FILES for file in place.glob(pattern)}
    return Space(
        model=folder.reference,
        weights=_digest(folder, shaping, verdicts),
        tokenizer=_digest(folder, wording, verdicts),
        dim=dim,
        pooling=folder.pooling,
        max_seq_length=folder.max_seq_length,
        query_prompt=prompts.query,
        document_prompt=prompts.document,
    )


def own_prompts(settings: dict[str, Any]) -> Prompts:
    """Return the prompts that a model's `config_sentence_transformers.json` names.

    The choice is that of `encode_query` and `encode_document` of sentence-transformers.
    """
    named = {name: text for name, text in (settings.get("prompts") or {}).items() if text}
    usual = named.get(settings.get("default_prompt_name") or "", "")
    document = next((named[name] for name in _DOCUMENT_NAMES if name in named), usual)
    return Prompts(query=named.get("query", usual), document=document)


def effective_prompts(reference: str, own: Prompts, query: str | None, document: str | None) -> Prompts:
    """Return the prompts in force: the user's (`""`: none), else the model's own, else its family's.

    The family is known by the name in `reference`.
    """
    usual = own
    if own == Prompts():
        usual = next((prompts for pattern, prompts in _FAMILIES if pattern.search(reference.lower())), own)
    return Prompts(
        query=usual.query if query is None else query,
        document=usual.document if document is None else document,
    )


def _digest(folder: ModelFolder, files: Iterable[Path], verdicts: Path) -> str:
    """Return one SHA-256 over the digests of files, independent of their order."""
    try:
        parts = {
            file.relative_to(folder.path).as_posix(): sha256(file, verdicts)
            for file in files
            if file.is_file()
        }
    except OSError as error:
        sentence = f"A file of the model {folder.reference} cannot be read: {error}."
        raise EncoderError(f"{sentence} Give yourself read permission, or fetch it again.") from error
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _pooling_mode(settings: dict[str, Any]) -> str:
    mode = (
        settings.get("pooling_mode")
        or [name for key, name in _LEGACY_POOLING.items() if settings.get(key)]
        or "mean"
    )
    return mode if isinstance(mode, str) else "+".join(mode)


def _max_seq_length(
    config: dict[str, Any], transformer: dict[str, Any], tokenizer: dict[str, Any]
) -> int | None:
    """Resolve the limit as sentence-transformers does: as stated, else the tokenizer's, within positions."""
    stated = transformer.get("max_seq_length") or tokenizer.get("model_max_length")
    limits = [
        int(limit) for limit in (stated, config.get("max_position_embeddings")) if limit and 0 < limit < 10**9
    ]
    return min(limits, default=None)


def _json(file: Path, missing: Any = None) -> Any:
    """Read a JSON file; `missing` (by default {}) gives its type, and stands for one that does not exist."""
    missing = {} if missing is None else missing
    try:
        content = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return missing
    except (OSError, ValueError) as error:
        raise EncoderError(_UNREADABLE.format(file, error)) from error
    if not isinstance(content, type(missing)):
        raise EncoderError(_UNREADABLE.format(file, f"it holds a {type(content).__name__}"))
    return content
