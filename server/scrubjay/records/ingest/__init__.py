"""Folders into documents: which files changed since the last time, and the writes that follow from it."""
