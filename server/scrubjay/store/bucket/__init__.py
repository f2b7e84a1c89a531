"""A store in a bucket, which several engines share and one writes."""
