"""Turns folders into documents: finds the files that changed since the last time, and writes them."""
