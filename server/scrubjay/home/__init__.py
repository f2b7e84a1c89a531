"""The user's home of Scrubjay: its paths, settings and spool, and what a folder's scope is. Standard library only."""
