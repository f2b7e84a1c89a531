"""Runs at a host's events: `hook.py --host NAME [--event EVENT]`, with the event as JSON on stdin.

The console script `scrubjay-hook` does the same; this file under `python -I -S` is quicker, because Python
then skips site-packages. `bootstrap` starts and ends a hook, `entry` does its work.
"""

import os
import sys

if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    import bootstrap  # the neighbouring file, which makes the package importable

    bootstrap.main()
