"""The user's Scrubjay home: its paths, settings, scopes and spool. Standard library only."""
