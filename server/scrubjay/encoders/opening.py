"""Opens a model by its name: finds its folder, settles prompts and identity, and picks the runtime."""

import logging
from pathlib import Path

from scrubjay.encoders import hub
from scrubjay.encoders.bundled import BUNDLED, BundledEncoder, check_files
from scrubjay.encoders.folder import ModelFolder, effective_prompts, read_folder, space_of
from scrubjay.encoders.protocol import Encoder
from scrubjay.errors import EncoderError

log = logging.getLogger("scrubjay.encoders")


def open_encoder(
    model: str = BUNDLED,
    *,
    query_prompt: str | None = None,
    document_prompt: str | None = None,
    verdicts: Path,
) -> Encoder:
    """Open the encoder of a model on this disk, without a connection.

    Args:
        model: `bundled`, a hub id already downloaded (`org/name`, `org/name@revision`), or the absolute path
            of a folder.
        query_prompt: goes before every question; None leaves the model's own, `""` switches it off.
        document_prompt: the same for stored texts.
        verdicts: a JSON file that keeps the digests of large files.

    Raises:
        EncoderError: the model is missing, altered, damaged, or of a kind that cannot be loaded.
    """
    if model == BUNDLED:
        check_files(verdicts)
        return BundledEncoder(query_prompt or "", document_prompt or "")
    folder = find(model)
    prompts = effective_prompts(folder.reference, folder.prompts, query_prompt, document_prompt)

    from scrubjay.encoders.light import LightEncoder, why_not_light

    reason = why_not_light(folder)
    if reason is None:
        return LightEncoder(folder, space_of(folder, prompts, folder.config["hidden_size"], verdicts))
    log.info("The model %s runs under sentence-transformers, because %s.", folder.reference, reason)

    from scrubjay.encoders.sentence_transformer import SentenceTransformerEncoder, load

    dim = folder.dim or load(folder).get_embedding_dimension()
    if dim is None:
        raise EncoderError(f"The model {folder.reference} does not tell the width of its vectors.")
    return SentenceTransformerEncoder(folder, space_of(folder, prompts, dim, verdicts))


def find(model: str) -> ModelFolder:
    """Find the folder of a model by its name, as in `open_encoder`; the bundled one has none to find.

    Raises:
        EncoderError: it is not on this disk, or this is no name of a model.
    """
    path = Path(model).expanduser()
    if path.is_absolute():
        if not path.is_dir():
            remedy = "Set it with `scrubjay config model <hub id or folder>`."
            raise EncoderError(f"The model folder {path} does not exist. {remedy}")
        return read_folder(path, path.name)
    parts = hub.parse_id(model)
    if parts is None:
        raise EncoderError(
            f"{model!r} names no model. "
            "Use `bundled`, a hub id such as `BAAI/bge-small-en-v1.5`, or the absolute path of a folder."
        )
    model_id, revision = parts
    snapshot = hub.cached_folder(model_id, revision)
    return read_folder(snapshot, f"{model_id}@{snapshot.name}")
