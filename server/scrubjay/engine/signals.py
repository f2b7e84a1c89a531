"""The signals that ask an engine to finish. Knows the two ways systems deliver them; does not know what finishing is."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def finishing_on_signals(finish: Callable[[str], None]) -> Iterator[None]:
    """Call `finish` with the signal's name when the system or the user asks this process to end.

    Only the main thread hears signals; in any other, nothing is changed. `finish` must be safe to call from anywhere.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
    elif sys.platform == "win32":  # pragma: no cover - asyncio has no signal handlers there
        names = (signal.SIGINT, signal.SIGTERM, signal.SIGBREAK)
        before = {each: signal.signal(each, lambda number, _: finish(signal.Signals(number).name)) for each in names}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
    else:
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, finish, each.name)
        try:
            yield
        finally:
            for each in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(each)
