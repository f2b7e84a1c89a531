"""The page of `scrubjay open`: what is remembered, to look at and to put right."""
