"""The real pipe, pointed at the engine of the tests.

    python echo_pipe.py HOME VERSION IDLE_SECONDS [engine flags...]

The flag `inside` is `--in-process`: the engine, where one is needed, is this process. With `offers` the pipe
answers requests that need no engine, as the installed one does.
"""

from __future__ import annotations

import asyncio
import os
import sys

import echo_engine

from scrubjay.pipe.offer import Offer
from scrubjay.pipe.stdio import MUST_SERVE, main
from scrubjay.wire.hello import hello_from

if __name__ == "__main__":
    _, root, version, idle, *flags = sys.argv
    command = [sys.executable, echo_engine.__file__, "serve", version, idle, "auto", *flags]
    client = hello_from("pipe", dict(os.environ), os.getcwd(), os.getpid(), version=version)
    patience = float(os.environ.get("UNREACHABLE", "5"))
    code = main(
        root,
        client,
        os.environ,
        in_process="inside" in flags,
        command=command,
        offer=None if "offers" in flags else Offer(echo_engine.NO_OFFER),
        unreachable_seconds=patience,
    )
    if code == MUST_SERVE:
        code = asyncio.run(echo_engine.main(root, version, float(idle), {"auto"}, client)) or 0
    sys.exit(code)
