"""Where a store lies, told from its address alone: this is asked before anything heavy is imported."""

from __future__ import annotations


def is_shared(path: str) -> bool:
    """Whether a store lies in a bucket, where other engines use it too.

    >>> is_shared("s3://bucket/team"), is_shared("/home/jay/data")
    (True, False)
    """
    return "://" in path
