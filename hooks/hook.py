"""What a host runs at its events: `hook.py --host NAME [--event EVENT]`, the event as JSON on stdin.

The console script `scrubjay-hook` is the same; this file under `python -I -S` is quicker, because Python
then skips site-packages. `bootstrap` knows how a hook begins and ends, `entry` what it does.
"""

import os
import sys

if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    import bootstrap  # the neighbouring file, which makes the package importable

    bootstrap.main()
