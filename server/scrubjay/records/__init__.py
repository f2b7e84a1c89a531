"""What users keep, and how each write is planned."""
