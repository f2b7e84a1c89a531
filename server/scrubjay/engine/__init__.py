"""The process side of the engine: its lock, its address, its connections and how long it lives.

Importing this package costs nothing; `lock`, `address`, `lines` and `glance` are standard library only, so
that the pipe uses them too. The engine never imports the pipe.
"""
