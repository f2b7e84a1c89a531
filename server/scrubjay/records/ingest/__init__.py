"""Folders into documents: which files there are, what became of each since the last time, and the writes that follow from it."""
