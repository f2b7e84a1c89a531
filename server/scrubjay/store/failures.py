"""LanceDB's failures in words: what the disk or the bucket refused, and what to do about it."""

import re

from scrubjay.errors import StoreError
from scrubjay.home.paths import is_shared

_S3_REFUSAL = re.compile(r"<Code>(\w+)</Code>\s*<Message>([^<]+)</Message>")
_NO_CONNECTION = re.compile(r'message: "([^"]+)"')
_SYSTEM_REFUSAL = re.compile(r"([A-Z][\w ,'-]*) \(os error \d+\)")


def reason(error: Exception) -> str:
    """Return why the disk refused; where the error does not say, its kind.

    >>> reason(RuntimeError("LanceError(IO): No space left on device (os error 28), writer.rs:258:9"))
    'No space left on device'
    """
    text = str(error)
    if refusal := _S3_REFUSAL.search(text):
        return f"{refusal[2].rstrip('.')} ({refusal[1]})"
    refusal = _SYSTEM_REFUSAL.search(text) or _NO_CONNECTION.search(text)
    return refusal[1] if refusal else getattr(error, "strerror", None) or type(error).__name__


def not_opened(path: str, error: Exception) -> StoreError:
    """Return what to raise when the store at `path` did not open."""
    if is_shared(path):
        return StoreError(
            f"The store in {path} cannot be reached: {reason(error)}. Look at the name of the bucket and at "
            "the AWS_* variables of this engine (key, region, endpoint); then start it again."
        )
    problem = f"The store in {path} cannot be opened: {error}."
    return StoreError(f"{problem} Make room or fix its rights; try again.")


def not_written(path: str, error: Exception) -> StoreError:
    """Return what to raise when the store at `path` did not take a commit."""
    if is_shared(path):
        problem = f"The store in {path} does not take a write: {reason(error)}."
        return StoreError(f"{problem} What was acknowledged waits and is not lost.")
    return StoreError(
        f"The store in {path} cannot be written: {reason(error)}. Make room or give yourself the right to "
        "write there; what was acknowledged waits in the spool and is not lost."
    )
