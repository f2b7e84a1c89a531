"""LanceDB's failures in words. Knows how its core phrases a refusal of the operating system; does not know what was being done."""

from __future__ import annotations

import re

from scrubjay.errors import StoreError

_REFUSAL = re.compile(r"([A-Z][\w ,'-]*) \(os error \d+\)")


def reason(error: Exception) -> str:
    """Why the disk refused; where the error does not say, its kind.

    >>> reason(RuntimeError("lance error: LanceError(IO): No space left on device (os error 28), writer.rs:258:9"))
    'No space left on device'
    """
    refused = _REFUSAL.search(str(error))
    return refused[1] if refused else getattr(error, "strerror", None) or type(error).__name__


def not_written(path: str, error: Exception) -> StoreError:
    """What to raise when the store at `path` did not take a commit."""
    return StoreError(
        f"The store in {path} cannot be written: {reason(error)}. Make room or give yourself the right to write there; "
        "what was acknowledged waits in the spool and is not lost."
    )
