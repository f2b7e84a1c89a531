"""From a question to ranked candidates: legs over the passages, fused in the context of their sessions."""
