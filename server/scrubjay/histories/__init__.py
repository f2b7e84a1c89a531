"""Reads the history on a machine: the sessions that other programs stored, and the facts of other memories.

Each file reads the stores of one program, or of several with similar stores; `table` lists them. Nothing is
written, locked or started. `cli.past` sends the results to the engine.
"""
