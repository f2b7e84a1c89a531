"""The engine: the process that owns a home, with its lock, address, connections and lifetime.

Importing this package costs nothing. The engine never imports the pipe.
"""
