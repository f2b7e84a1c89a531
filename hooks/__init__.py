"""Scripts that a host runs at its events. Standard library only, Python 3.9 syntax."""
