"""Models of the Hugging Face hub that are already on this disk. Knows ids and the hub's cache; opens no connection."""

from __future__ import annotations

import os
import re
from pathlib import Path

from scrubjay.errors import EncoderError

_NAME = r"[A-Za-z0-9](?:[\w.-]*\w)?"
_ID = re.compile(rf"(?P<id>{_NAME}/{_NAME})(?:@(?P<revision>[\w./-]+))?", re.ASCII)


def parse_id(model: str) -> tuple[str, str | None] | None:
    """`org/name` or `org/name@revision` as (id, revision); None for anything else."""
    match = _ID.fullmatch(model)
    return match and (match["id"], match["revision"])


def stay_offline() -> None:
    """Forbid the libraries of the hub any connection from this process, and any chatter on its streams.

    They read these variables when they are imported, so this comes before the first import. Without the first of them
    a hub id that is not on disk took 70 s to fail on a machine without network.
    """
    os.environ.update(
        HF_HUB_OFFLINE="1",
        TRANSFORMERS_OFFLINE="1",
        HF_HUB_DISABLE_TELEMETRY="1",
        HF_HUB_DISABLE_PROGRESS_BARS="1",
        TRANSFORMERS_VERBOSITY="error",
        TOKENIZERS_PARALLELISM="false",
    )


def cached_folder(model_id: str, revision: str | None) -> Path:
    """The newest snapshot of a model in the hub's cache; its name is the commit.

    Raises:
        EncoderError: the model was not downloaded; names the command that does it.
    """
    stay_offline()
    from huggingface_hub import try_to_load_from_cache

    name = f"{model_id}@{revision}" if revision else model_id
    # Not snapshot_download, even offline: it refuses a snapshot that lacks any file of the repository, needed or not.
    try:
        found = [try_to_load_from_cache(model_id, file, revision=revision) for file in ("modules.json", "config.json")]
    except ValueError as error:
        raise EncoderError(f"{model_id!r} cannot be the id of a model: {error} Write it as on its page, organisation/name.") from error
    for file in found:
        if isinstance(file, str):
            return Path(file).parent
    raise EncoderError(f"The model {name} is not on this disk, and Scrubjay downloads nothing by itself. Run `scrubjay pull {name}` first.")
