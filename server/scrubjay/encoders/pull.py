"""The explicit download of a model: the only place in Scrubjay that may open a connection to the internet.
Knows which files of a repository are needed; does not load them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scrubjay.errors import EncoderError

# Exports for other runtimes and pictures, often several times the size of the weights; and code, which is never run.
_SKIPPED = ("onnx/*", "openvino/*", "*.onnx", "*.h5", "*.ot", "*.msgpack", "*.gguf", "*.tflite", "*.mlmodel", "*.png", "*.jpg", "*.py")
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt")


@dataclass(frozen=True)
class Pulled:
    """A downloaded model: where it lies, and the commit that pins it as `id@commit`."""

    folder: Path
    commit: str


def pull(model_id: str, revision: str | None = None) -> Pulled:
    """Download a model from the Hugging Face hub into its usual cache, or complete it there.

    Of a repository that has safetensors no pickled weights are fetched. Progress goes to stderr.

    Raises:
        EncoderError: there is no such model or revision, no access, no network, or no space on the disk.
    """
    from huggingface_hub import HfApi, constants, snapshot_download
    from huggingface_hub.errors import GatedRepoError, HTTPError, RepositoryNotFoundError, RevisionNotFoundError

    name = f"{model_id}@{revision}" if revision else model_id
    if constants.HF_HUB_OFFLINE:
        raise EncoderError(f"The model {name} was not downloaded: HF_HUB_OFFLINE forbids connections here. Unset it and repeat.")
    try:
        facts = HfApi().model_info(model_id, revision=revision)
        safe = any(file.rfilename.endswith(".safetensors") for file in facts.siblings or ())
        folder = Path(snapshot_download(model_id, revision=revision, ignore_patterns=[*_SKIPPED, *(_PICKLED if safe else ())]))
    except GatedRepoError as error:
        raise EncoderError(
            f"The model {model_id} is gated: accept its terms on its page, log in with `hf auth login`, and repeat."
        ) from error
    except RevisionNotFoundError as error:
        raise EncoderError(f"The model {model_id} has no revision {revision!r}. Name a branch, a tag or a commit of it.") from error
    except RepositoryNotFoundError as error:
        raise EncoderError(
            f"There is no model {model_id!r} on the hub, or it is private. Check the spelling (organisation/name), "
            "or log in with `hf auth login`."
        ) from error
    except (OSError, ValueError, HTTPError) as error:
        # A connection that fails is an HTTPError of the hub's own client (httpx or httpx2, by version), and no OSError.
        raise EncoderError(
            f"The model {name} could not be downloaded: {error}. Check the network and the free disk space, then repeat; "
            "what has arrived is kept."
        ) from error
    return Pulled(folder, folder.name)
