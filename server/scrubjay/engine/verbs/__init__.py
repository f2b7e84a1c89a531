"""The engine's operations for its interfaces, each implemented once."""
