"""The routes of supermemory: versions 4 and 5 name the same documents, memories and scopes differently."""
