"""The process of the engine: its life, its socket, its connections."""
