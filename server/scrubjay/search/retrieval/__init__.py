"""From a question to ranked candidates: several searches, fused in the context of their sessions."""
