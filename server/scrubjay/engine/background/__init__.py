"""Work that goes on beside the calls."""
