"""Hebb Mind's API, `/api/v1`: facts and turns as memories in partitions, with weights and windows."""
