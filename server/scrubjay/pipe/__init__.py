"""The client side of the engine: find it, start it if there is none, and carry lines to it.

Standard library only, and light: a client waits for this code at every start. `stdio.main` is what `scrubjay` runs.
"""
