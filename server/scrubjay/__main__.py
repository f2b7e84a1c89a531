"""`python -m scrubjay` is the command `scrubjay`."""

import sys

from scrubjay.cli import main

if __name__ == "__main__":
    sys.exit(main())
