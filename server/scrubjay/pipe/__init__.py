"""The client side of the engine: finds it, starts it if necessary, and carries lines to it.

Standard library only and quick to import: a client waits for this code at every start. `scrubjay` runs
`stdio.main`.
"""
