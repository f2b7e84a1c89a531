"""A store in a bucket, shared by several engines and written by one."""
