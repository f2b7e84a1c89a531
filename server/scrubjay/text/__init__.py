"""Text in, text and numbers out: no clock, no disk, no network."""
