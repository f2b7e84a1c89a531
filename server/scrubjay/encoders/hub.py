"""Finds models of the Hugging Face hub in its cache on this disk, and downloads others on demand.

Only `pull` opens a connection.
"""

import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from scrubjay.encoders.folder import need
from scrubjay.encoders.onnx_folder import graph_file, preferred
from scrubjay.errors import EncoderError

_NAME = r"[A-Za-z0-9](?:[\w.-]*\w)?"
_ID = re.compile(rf"(?P<id>{_NAME}/{_NAME})(?:@(?P<revision>[\w./-]+))?", re.ASCII)
# Pictures and exports for other runtimes are often several times the size of the weights, and code is never
# run. An ONNX export is fetched by name, in place of the weights.
_SKIPPED = "onnx/* openvino/* *.onnx *.h5 *.ot *.msgpack *.gguf *.tflite *.mlmodel *.png *.jpg *.py".split()
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt")
_WEIGHTS = ("model*.safetensors", *_PICKLED)  # in the top folder; dense layers have their own folders


def parse_id(model: str) -> tuple[str, str | None] | None:
    """Parse `org/name` or `org/name@revision` into (id, revision); None for anything else."""
    match = _ID.fullmatch(model)
    return match and (match["id"], match["revision"])


def stay_offline() -> None:
    """Forbid the hub's libraries to connect and to print in this process.

    They read these variables when they are imported, so this must come before their first import.
    Without HF_HUB_OFFLINE, a hub id that is not on disk took 70 s to fail on a machine without network.
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
    """Return the newest snapshot of a model in the hub's cache; its name is the commit.

    Raises:
        EncoderError: the model was not downloaded; the message names the command for it.
    """
    stay_offline()
    from huggingface_hub import try_to_load_from_cache

    name = f"{model_id}@{revision}" if revision else model_id
    names = ("modules.json", "config.json")
    try:  # snapshot_download would refuse a snapshot that lacks any file, needed or not
        files = [try_to_load_from_cache(model_id, file, revision=revision) for file in names]
    except ValueError as error:
        sentence = f"{model_id!r} cannot be the id of a model: {error}"
        raise EncoderError(f"{sentence} Write it as on its page: organisation/name.") from error
    for file in files:
        if isinstance(file, str):
            return Path(file).parent
    raise EncoderError(
        f"The model {name} is not on this disk, and Scrubjay downloads nothing by itself. "
        f"Run `scrubjay pull {name}` first."
    )


def pull(model_id: str, revision: str | None = None) -> Path:
    """Download those files of a model that the cache of the Hugging Face hub on this disk lacks.

    An ONNX export is fetched in place of the weights for torch. Pickled weights are skipped if the repository
    has safetensors. Progress goes to stderr. Return the folder; its name is the commit.

    Raises:
        EncoderError: it could not be downloaded; the message gives the reason.
    """
    from huggingface_hub import HfApi, constants, snapshot_download
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError
    from huggingface_hub.errors import HTTPError as HubError  # type: ignore[attr-defined]

    problems = {
        GatedRepoError: "is gated: accept its terms on its page, log in with `hf auth login`, and repeat.",
        RevisionNotFoundError: "has no such revision. Name a branch, a tag or a commit of it.",
        RepositoryNotFoundError: (
            "is not on the hub, or is private. "
            "Check the spelling (organisation/name), or log in with `hf auth login`."
        ),
    }
    name = f"{model_id}@{revision}" if revision else model_id
    if constants.HF_HUB_OFFLINE:
        sentence = f"The model {name} was not downloaded: HF_HUB_OFFLINE forbids connections here."
        raise EncoderError(f"{sentence} Unset it and repeat.")
    try:
        info = HfApi().model_info(model_id, revision=revision)
        names = [file.rfilename for file in info.siblings or ()]
        return _fetch(model_id, names, partial(snapshot_download, model_id, revision=revision))
    except (OSError, ValueError, HubError) as error:
        # A failed connection is not an OSError, but an HTTPError of httpx or httpx2, by the hub's version.
        unknown_problem = (
            f"could not be downloaded: {error}. "
            "Check the network and the free disk space, then repeat; the files downloaded so far are kept."
        )
        known = (sentence for kind, sentence in problems.items() if isinstance(error, kind))
        raise EncoderError(f"The model {name} {next(known, unknown_problem)}") from error


def _fetch(model_id: str, names: Sequence[str], download: Callable[..., str]) -> Path:
    """Download the files of a repository that are needed to run its model, and return their folder."""
    if graph := preferred(names):
        download(allow_patterns=[graph, f"{graph}_data*"])
        folder = Path(download(ignore_patterns=[*_SKIPPED, *_WEIGHTS]))
        if graph_file(folder):
            return folder
    need("sentence_transformers", model_id, "models")
    has_safetensors = any(name.endswith(".safetensors") for name in names)
    return Path(download(ignore_patterns=[*_SKIPPED, *(_PICKLED if has_safetensors else ())]))
