"""The page of `scrubjay open`, for viewing and correcting the memory."""
