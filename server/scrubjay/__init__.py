"""Scrubjay: the memory of a coding assistant. Importing the package imports nothing else."""

VERSION = "0.2.0"
