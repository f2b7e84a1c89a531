"""LanceDB's failures in words. Knows how its core phrases a refusal of the operating system; does not know what was being done."""

from __future__ import annotations

import re

from scrubjay.errors import StoreError
from scrubjay.home.paths import is_shared

_BUCKET = re.compile(r"<Code>(\w+)</Code>\s*<Message>([^<]+)</Message>")  # how S3 says no
_UNREACHED = re.compile(r'message: "([^"]+)"')
_REFUSAL = re.compile(r"([A-Z][\w ,'-]*) \(os error \d+\)")


def reason(error: Exception) -> str:
    """Why the disk refused; where the error does not say, its kind.

    >>> reason(RuntimeError("lance error: LanceError(IO): No space left on device (os error 28), writer.rs:258:9"))
    'No space left on device'
    """
    if said := _BUCKET.search(str(error)):
        return f"{said[2].rstrip('.')} ({said[1]})"
    refused = _REFUSAL.search(str(error)) or _UNREACHED.search(str(error))
    return refused[1] if refused else getattr(error, "strerror", None) or type(error).__name__


def not_opened(path: str, error: Exception) -> StoreError:
    """What to raise when the store at `path` did not open."""
    if is_shared(path):
        return StoreError(
            f"The store in {path} cannot be reached: {reason(error)}. Look at the name of the bucket and at the AWS_* variables of this "
            "engine (key, region, endpoint); then start it again."
        )
    return StoreError(
        f"The store in {path} cannot be opened: {error}. Make room or fix its rights; try again."
    )


def not_written(path: str, error: Exception) -> StoreError:
    """What to raise when the store at `path` did not take a commit."""
    if is_shared(path):
        return StoreError(
            f"The store in {path} does not take a write: {reason(error)}. What was acknowledged waits and is not lost."
        )
    return StoreError(
        f"The store in {path} cannot be written: {reason(error)}. Make room or give yourself the right to write there; "
        "what was acknowledged waits in the spool and is not lost."
    )
