"""The assistants on this machine: where each keeps its settings, what we add to them, and how that goes."""
