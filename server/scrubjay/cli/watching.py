"""Waits for changes below some paths. Knows the library that hears of them; does not know what they mean."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from watchfiles import DefaultFilter, watch

LISTENS_MS = 500  # after which the first word comes, and how long Ctrl-C waits at most
QUIET_MS = 400  # after the last change of a burst: an editor writes a file in several steps, git hundreds at once


def changes(paths: Sequence[str]) -> Iterator[None]:
    """Yield once as soon as changes are listened for, then after every burst of them below these files and folders, until interrupted."""
    folders = {path if os.path.isdir(path) else os.path.dirname(path) for path in paths}
    listens = False
    heard = watch(
        *folders, watch_filter=DefaultFilter(), step=QUIET_MS, debounce=10 * QUIET_MS, rust_timeout=LISTENS_MS, yield_on_timeout=True
    )
    for changed in heard:
        if changed or not listens:
            listens = True
            yield
