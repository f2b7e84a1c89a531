"""The user's home of Scrubjay: its paths, settings, scopes and spool. Standard library only."""
