"""LanceDB and Arrow: the only room that knows how records and passages lie on disk."""
