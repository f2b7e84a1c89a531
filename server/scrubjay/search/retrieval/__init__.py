"""From a query to ranked candidates: two legs over the passages, fused and put into the context of their sessions."""
