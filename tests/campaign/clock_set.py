"""The installed command under a clock that is set while it runs: python clock_set.py FILE [arguments of
scrubjay].

FILE holds how many seconds the clock is ahead, or behind if negative; the engines it starts use the same
clock.
"""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from pathlib import Path

if __name__ == "__main__":
    file, real, real_ns = Path(sys.argv[1]), time.time, time.time_ns
    time.time = lambda: real() + float(file.read_text())
    time.time_ns = lambda: real_ns() + int(float(file.read_text()) * 1e9)
    from scrubjay.pipe import spawn

    spawn.engine_command = lambda: [sys.executable, __file__, str(file), "serve", "--auto"]
    from scrubjay.engine.engine import Engine

    Engine.__init__.__kwdefaults__["clock"] = lambda: datetime.fromtimestamp(time.time(), UTC)
    from scrubjay.cli import main

    sys.exit(main(sys.argv[2:]))
