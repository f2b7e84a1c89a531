"""Runs `hook.py` at Stop for Claude Code, which older registrations call by this file."""

import os
import sys

if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    import bootstrap  # the neighbouring file, which makes the package importable

    bootstrap.start("claude-code", "Stop")
