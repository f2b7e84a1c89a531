"""The bytes that pipe, hooks and engine exchange. Standard library only."""
