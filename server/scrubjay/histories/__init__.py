"""The past that lies on a machine already: what other programs keep of their sessions, and other memories.

Each file reads the stores of one program, or of several that are made alike; `table` lists them. Nothing is
written, locked or started; what is read goes to the engine by `cli.past`.
"""
