"""Records, requests and results: the only place where a field is spelled. Nothing heavier than pydantic."""
