"""`scrubjay hook NAME`: the hook scripts as a console command. A hook never fails, so a wrong name is the only error it reports."""

from __future__ import annotations

import importlib
import sys

from scrubjay.hooks import bootstrap

NAMES = ("user_prompt_submit", "stop", "session_start")


def hook(arguments: list[str]) -> int:
    name = arguments[0].replace("-", "_") if arguments else ""
    if name not in NAMES:
        print(
            f"usage: scrubjay hook {{{','.join(NAMES)}}}  (a host's hook command; reads its event on standard input)",
            file=sys.stderr,
        )
        return 1
    event = importlib.import_module(f"scrubjay.hooks.{name}")
    bootstrap.start(
        event.main, event.DEADLINE_S
    )  # leaves the process: like the script, within its deadline and with exit code 0
    return 0
