"""The client side of the engine: finds it, starts it if there is none, and carries lines to it.

Standard library only, and light: a client waits for this code at every start. `scrubjay` runs `stdio.main`.
"""
