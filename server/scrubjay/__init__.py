"""Scrubjay: the memory of a coding assistant. Importing the package imports nothing else."""
