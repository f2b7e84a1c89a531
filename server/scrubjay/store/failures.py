"""Turns LanceDB's failures into sentences: what the disk or the bucket refused, and what to do about it."""

import re
from collections.abc import Sequence

from scrubjay.errors import StoreError
from scrubjay.home.paths import is_shared

# How to replace damaged records, which cannot be rebuilt.
RESTORE = "Restore a backup with `scrubjay restore-backup FOLDER --replace`"
SEE_DOCTOR = "`scrubjay doctor` shows what is damaged and what to do."
_SYSTEM_REFUSAL = re.compile(r"([A-Z][\w ,'-]{0,200}) \(os error \d+\)")
# What LanceDB says, and our words for it; the first that matches counts.
_REASONS = (
    (re.compile(r"<Code>(\w+)</Code>\s*<Message>([^<]+)</Message>"), "{1} ({0})"),
    (_SYSTEM_REFUSAL, "{0}"),
    (
        re.compile(r"\b(\w+\.lance/(?:data|_indices|_versions|_deletions)[\w./-]*)"),
        "a file of the store is missing or damaged ({0})",
    ),
    (re.compile(r'message: "([^"]+)"'), "{0}"),
)


def is_of_store(error: Exception) -> bool:
    """Return True if LanceDB or the disk may have raised this error; some types are always bugs of ours."""
    is_our_bug = isinstance(error, RecursionError | UnicodeEncodeError)
    return isinstance(error, RuntimeError | ValueError | OSError) and not is_our_bug


def reason(error: Exception) -> str:
    """Return why the disk refused, or the type of the error if its text does not say.

    >>> reason(RuntimeError("LanceError(IO): No space left on device (os error 28), writer.rs:258:9"))
    'No space left on device'
    """
    text = str(error)
    for pattern, words in _REASONS:
        if match := pattern.search(text):
            return words.format(*(group.rstrip(".") for group in match.groups()))
    if isinstance(error, RuntimeError | ValueError) and "lance" in text.lower():
        return f"a file of the store is damaged ({type(error).__name__})"
    return getattr(error, "strerror", None) or type(error).__name__


def not_opened(path: str, error: Exception) -> StoreError:
    """Return the error to raise if the store at `path` did not open."""
    if is_shared(path):
        return StoreError(
            f"The store in {path} cannot be reached: {reason(error)}. Check the name of the bucket and "
            "the AWS_* variables of this engine (key, region, endpoint), then start it again."
        )
    problem = f"The store in {path} cannot be opened: {error}."
    return StoreError(f"{problem} Free disk space or fix its permissions, then try again.")


def not_written(path: str, error: Exception) -> StoreError:
    """Return the error to raise if the store at `path` did not accept a commit."""
    problem = f"The store in {path} does not accept a write: {reason(error)}."
    waits = "acknowledged writes wait in the spool and are not lost"
    if is_shared(path):
        return StoreError(f"{problem} Acknowledged writes are kept and will be retried.")
    if not is_of_store(error):
        return StoreError(f"A write failed inside Scrubjay: {reason(error)}; {waits}.")
    if isinstance(error, RuntimeError | ValueError) and not _SYSTEM_REFUSAL.search(str(error)):
        return StoreError(f"{problem} `scrubjay doctor` finds and repairs damage; {waits}.")
    problem = f"The store in {path} cannot be written: {reason(error)}."
    return StoreError(f"{problem} Make room or give yourself the right to write there; {waits}.")


def not_read(path: str, error: Exception, damage: Sequence[str]) -> StoreError:
    """Return the error for a failed read of the store at `path`; `damage` lists the known damage."""
    if not is_of_store(error):
        return StoreError(f"A read failed inside Scrubjay: {reason(error)}. Trying again is safe.")
    if damage:
        return StoreError(
            " ".join([*damage, f"{RESTORE}, or run `scrubjay doctor --mend` to continue without it."])
        )
    problem = f"The store in {path} cannot be read: {reason(error)}."
    return StoreError(f"{problem} Try again; `scrubjay doctor` finds and repairs damage.")
