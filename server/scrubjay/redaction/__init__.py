"""Redaction: takes secrets, and what the user marked as private, out of every text before it is stored."""
