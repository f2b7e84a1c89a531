"""The nouns: the only place where a field is spelled. Importing a module of this room imports pydantic and nothing heavier."""
