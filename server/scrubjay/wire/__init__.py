"""What pipe, hooks and engine say to each other, byte for byte. Standard library only."""
