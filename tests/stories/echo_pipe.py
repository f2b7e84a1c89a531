"""The real pipe, pointed at the engine of the tests: python echo_pipe.py HOME VERSION IDLE_SECONDS [engine flags...]"""

from __future__ import annotations

import os
import sys

from scrubjay.hello import hello_from
from scrubjay.pipe.stdio import main

if __name__ == "__main__":
    _, root, version, idle, *flags = sys.argv
    engine = os.path.join(os.path.dirname(os.path.abspath(__file__)), "echo_engine.py")
    command = [sys.executable, engine, "serve", version, idle, "auto", *flags]
    client = hello_from("pipe", dict(os.environ), os.getcwd(), os.getpid(), version=version)
    sys.exit(main(root, client, os.environ, command=command, unreachable_seconds=float(os.environ.get("UNREACHABLE", "5"))))
