"""Opens a model by name."""

from pathlib import Path

from scrubjay.encoders import hub
from scrubjay.encoders.bundled import BUNDLED, BundledEncoder, check_files
from scrubjay.encoders.folder import ModelFolder, need
from scrubjay.encoders.multilingual import MULTILINGUAL, multilingual_folder
from scrubjay.encoders.onnx_folder import OnnxEncoder, graph_file
from scrubjay.encoders.protocol import Encoder
from scrubjay.encoders.sentence_transformer import SentenceTransformerEncoder
from scrubjay.errors import EncoderError


def open_encoder(
    model: str = BUNDLED,
    *,
    models: Path | None = None,
    query_prompt: str | None = None,
    document_prompt: str | None = None,
) -> Encoder:
    """Open the encoder of a model on this disk, without a connection.

    Args:
        model: `bundled`, `multilingual`, a hub id already downloaded (`org/name`, `org/name@revision`), or
            the absolute path of a folder.
        models: the home's folder in which the multilingual model is made.
        query_prompt: the text before every question; None uses the model's own prompt, `""` no prompt.
        document_prompt: the same for stored texts.

    Raises:
        EncoderError: the model is missing, altered, damaged, or of a kind that cannot be loaded.
    """
    folder = find(model, models)
    if folder is None:
        return BundledEncoder(query_prompt or "", document_prompt or "")
    if graph := graph_file(folder.path):
        return OnnxEncoder(folder, graph, query_prompt, document_prompt)
    return SentenceTransformerEncoder(folder, query_prompt, document_prompt)


def find(model: str, models: Path | None = None) -> ModelFolder | None:
    """Return a model's folder, or None for the bundled model, whose files are only checked.

    `model` is a name as in `open_encoder`.

    Raises:
        EncoderError: the model is not on this disk or was altered, it does not exist, or its runtime is not
            installed.
    """
    if model == BUNDLED:
        check_files()
        return None
    folder = _folder(model, models)
    if graph_file(folder.path):
        need("tokenizers", model, "onnx")
    else:
        need("sentence_transformers", model, "models")
    return folder


def is_name(model: str) -> bool:
    """Return True if a model can have this name, whether or not it is on this disk."""
    is_path = Path(model).expanduser().is_absolute()
    return model in (BUNDLED, MULTILINGUAL) or is_path or hub.parse_id(model) is not None


def not_a_name(model: str) -> str:
    """Return the sentences about a name that no model can have."""
    hub_id = "a hub id such as `BAAI/bge-small-en-v1.5`"
    allowed = f"`bundled`, `multilingual`, {hub_id}, or the absolute path of a folder"
    return f"{model!r} is not the name of a model. Use {allowed}."


def _folder(model: str, models: Path | None) -> ModelFolder:
    if model == MULTILINGUAL and models is not None:
        return multilingual_folder(models)
    path = Path(model).expanduser()
    if path.is_absolute():
        if not path.is_dir():
            remedy = "Set it with `scrubjay config model <hub id or folder>`."
            raise EncoderError(f"The model folder {path} does not exist. {remedy}")
        if not (path / "config.json").is_file() and not (path / "modules.json").is_file():
            raise EncoderError(
                f"The folder {path} has no model: config.json and modules.json are both missing. "
                "Name a folder as sentence-transformers saves it, or download the model with `scrubjay pull`."
            )
        return ModelFolder(path, path.name)
    parts = hub.parse_id(model)
    if parts is None:
        raise EncoderError(not_a_name(model))
    need("huggingface_hub", model, "onnx")
    model_id, revision = parts
    snapshot = hub.cached_folder(model_id, revision)
    return ModelFolder(snapshot, f"{model_id}@{snapshot.name}")
