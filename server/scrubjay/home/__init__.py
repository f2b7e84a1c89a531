"""The user's home of Scrubjay: its paths, its settings, its spool. Standard library only, except what says otherwise."""
