"""The pipe of a client on standard input and output; `scrubjay` and `scrubjay stdio` run it."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

from scrubjay.home.paths import open_home
from scrubjay.pipe.link import Link, knock
from scrubjay.pipe.offer import Offer, read_offer
from scrubjay.pipe.reach import START_SECONDS, UNREACHABLE_SECONDS, reach
from scrubjay.pipe.relay import Relay
from scrubjay.pipe.spawn import engine_command
from scrubjay.pipe.terminal import Terminal
from scrubjay.wire.lock import is_held

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrubjay.home.paths import Home
    from scrubjay.wire.hello import Hello

# Returned by `main(in_process=True)` if no engine is running: this process has to become the engine.
MUST_SERVE = -1


def main(
    root: str,
    hello: Hello,
    env: Mapping[str, str],
    *,
    in_process: bool = False,
    command: list[str] | None = None,
    offer: Offer | None = None,
    start_seconds: float = START_SECONDS,
    unreachable_seconds: float = UNREACHABLE_SECONDS,
) -> int:
    """Run the pipe on standard input and output until the client leaves; return the exit code.

    With `in_process`, start no process: if no engine is running, return MUST_SERVE before reading anything;
    the caller then serves the client itself, with `attach`. `command` starts an engine instead of this
    installation's command; `offer` replaces this version's answers to requests that need no engine.
    """
    if in_process and not _has_engine(open_home(root), hello):
        return MUST_SERVE
    start_command = None if in_process else command or engine_command()
    limits = {"start_seconds": start_seconds, "unreachable_seconds": unreachable_seconds}
    printed_notices: set[str] = set()

    def connect(since: float) -> Link:
        link = reach(open_home(root), hello, start_command, env, **limits, since=since)
        for notice in link.answer.get("notices", []):
            if notice not in printed_notices:
                printed_notices.add(notice)
                print(f"scrubjay: {notice}", file=sys.stderr)
        return link

    try:
        Relay(connect, Terminal(), offer or read_offer()).run()
    except KeyboardInterrupt:
        return 130  # the usual exit code after Ctrl-C
    return 0


def _has_engine(home: Home, hello: Hello) -> bool:
    link = knock(home, hello, 2.0)
    if link is not None:
        link.close()
    return link is not None or is_held(home.engine_lock)


def attach(
    root: str,
    hello: Hello,
    env: Mapping[str, str],
    on_end: Callable[[], None],
    *,
    offer: Offer | None = None,
) -> threading.Thread:
    """Connect this process's client to the engine that listens in it; call `on_end` when the client has left.

    The engine must listen already. It serves its own client like any other, over its socket.
    """

    def connect(since: float) -> Link:
        return reach(open_home(root), hello, None, env, since=since)

    def run_relay() -> None:
        try:
            Relay(connect, Terminal(), offer or read_offer()).run()
        finally:
            on_end()

    thread = threading.Thread(target=run_relay, name="pipe", daemon=True)
    thread.start()
    return thread
