"""Records, requests and results: every field is defined here, once. Nothing heavier than pydantic."""
