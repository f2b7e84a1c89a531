"""Removes secrets, and parts that the user marked as private, from every text before it is stored."""
