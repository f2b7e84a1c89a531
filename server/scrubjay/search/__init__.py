"""Search: from a question to hits."""
