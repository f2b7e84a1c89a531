"""Background work of the engine."""
