"""The engine's process: its lifetime, its socket, its connections."""
