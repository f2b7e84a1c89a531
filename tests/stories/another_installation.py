"""The installed command as another version of it would be: python another_installation.py VERSION [arguments
of scrubjay].

Its pipe sends that version in its hello, and the engines that it starts have that version.
"""

from __future__ import annotations

import sys

import scrubjay

if __name__ == "__main__":
    scrubjay.VERSION = sys.argv[1]  # before anything else is imported, because the others copy it
    from scrubjay.pipe import spawn

    spawn.engine_command = lambda: [sys.executable, __file__, scrubjay.VERSION, "serve", "--auto"]
    from scrubjay.cli import main

    sys.exit(main(sys.argv[2:]))
