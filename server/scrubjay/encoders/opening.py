"""From the name of a model to an encoder: finds its folder, settles its prompts, makes its identity, picks the runtime.
Knows the order of those steps; does not know how any of them is done."""

from __future__ import annotations

import logging
from pathlib import Path

from scrubjay.encoders import hub
from scrubjay.encoders.bundled import BUNDLED, bundled_folder
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
    """The encoder of a model on this disk; never opens a connection.

    Args:
        model: `bundled`, a hub id already downloaded (`org/name`, `org/name@revision`), or the absolute path of a folder.
        query_prompt: put before every question; None leaves the model's own, `""` switches it off.
        document_prompt: the same for stored texts.
        verdicts: a JSON file where the digests of large files are remembered.

    Raises:
        EncoderError: the model is missing, altered, damaged, or of a kind that cannot be loaded.
    """
    folder = find(model, verdicts)
    prompts = effective_prompts(folder.reference, folder.prompts, query_prompt, document_prompt)

    from scrubjay.encoders.light import LightEncoder, why_not_light

    reason = why_not_light(folder)
    if reason is None:
        return LightEncoder(folder, space_of(folder, prompts, folder.config["hidden_size"], verdicts))
    log.info("The model %s runs under sentence-transformers, because %s.", folder.reference, reason)

    from scrubjay.encoders.sentence_transformer import SentenceTransformerEncoder, load

    dim = folder.dim or load(folder).get_embedding_dimension()
    return SentenceTransformerEncoder(folder, space_of(folder, prompts, dim, verdicts))


def find(model: str, verdicts: Path) -> ModelFolder:
    """The folder of a model by its name as in `open_encoder`.

    Raises:
        EncoderError: it is not on this disk, or the name is none.
    """
    if model == BUNDLED:
        return read_folder(bundled_folder(verdicts), BUNDLED)
    path = Path(model).expanduser()
    if path.is_absolute():
        if not path.is_dir():
            raise EncoderError(
                f"The model folder {path} does not exist. Set it with `scrubjay config model <hub id or folder>`."
            )
        return read_folder(path, path.name)
    named = hub.parse_id(model)
    if named is None:
        raise EncoderError(
            f"{model!r} names no model. Use `bundled`, a hub id such as `BAAI/bge-small-en-v1.5`, or the absolute path of a folder."
        )
    model_id, revision = named
    snapshot = hub.cached_folder(model_id, revision)
    return read_folder(snapshot, f"{model_id}@{snapshot.name}")
