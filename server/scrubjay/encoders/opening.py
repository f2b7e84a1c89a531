"""Opens a model by name."""

from pathlib import Path

from scrubjay.encoders import hub
from scrubjay.encoders.bundled import BUNDLED, BundledEncoder, check_files
from scrubjay.encoders.folder import ModelFolder
from scrubjay.encoders.protocol import Encoder
from scrubjay.encoders.sentence_transformer import SentenceTransformerEncoder, need_extra
from scrubjay.errors import EncoderError


def open_encoder(
    model: str = BUNDLED,
    *,
    query_prompt: str | None = None,
    document_prompt: str | None = None,
) -> Encoder:
    """Open the encoder of a model on this disk, without a connection.

    Args:
        model: `bundled`, a hub id already downloaded (`org/name`, `org/name@revision`), or the absolute path
            of a folder.
        query_prompt: goes before every question; None leaves the model's own, `""` switches it off.
        document_prompt: the same for stored texts.

    Raises:
        EncoderError: the model is missing, altered, damaged, or of a kind that cannot be loaded.
    """
    folder = find(model)
    if folder is None:
        return BundledEncoder(query_prompt or "", document_prompt or "")
    return SentenceTransformerEncoder(folder, query_prompt, document_prompt)


def find(model: str) -> ModelFolder | None:
    """Return the folder of a model by name, as in `open_encoder`; None for the bundled one, once checked.

    Raises:
        EncoderError: it is not on this disk, it was altered, the name is not a model's, or its runtime is not
        installed.
    """
    if model == BUNDLED:
        check_files()
        return None
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
        need_extra(model)
        return ModelFolder(path, path.name)
    parts = hub.parse_id(model)
    if parts is None:
        raise EncoderError(
            f"{model!r} is not the name of a model. "
            "Use `bundled`, a hub id such as `BAAI/bge-small-en-v1.5`, or the absolute path of a folder."
        )
    need_extra(model)
    model_id, revision = parts
    snapshot = hub.cached_folder(model_id, revision)
    return ModelFolder(snapshot, f"{model_id}@{snapshot.name}")
