"""Models of the Hugging Face hub that are already on this disk. Knows ids and the hub's cache; opens no connection."""

from __future__ import annotations

import os
import re
from pathlib import Path

from scrubjay.errors import EncoderError

_ID = re.compile(r"(?P<id>[A-Za-z0-9][\w.-]*/[\w.-]+)(?:@(?P<revision>[\w./-]+))?")


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
    from huggingface_hub import snapshot_download

    name = f"{model_id}@{revision}" if revision else model_id
    try:
        return Path(snapshot_download(model_id, revision=revision, local_files_only=True))
    except (OSError, ValueError) as error:
        raise EncoderError(
            f"The model {name} is not on this disk, and Scrubjay downloads nothing by itself. Run `scrubjay pull {name}` first."
        ) from error
