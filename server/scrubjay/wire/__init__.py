"""What the pipe, the hooks and the engine exchange, byte for byte. Standard library only."""
