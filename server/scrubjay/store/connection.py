"""Opens LanceDB where a store lies: in a folder of this machine, or below a prefix of a bucket that several engines share. Knows how each
is asked for, and how the answers stay true; does not know what is stored there.
"""

from __future__ import annotations

from datetime import timedelta

import lancedb
from lancedb import AsyncConnection, Session

from scrubjay.store.address import is_shared

ALWAYS = timedelta(0)  # a handle that looks for the newest version before each use: with any other, LanceDB writes act on stale snapshots
EVERY_SECOND = timedelta(seconds=1)  # for the tables of a bucket: looking costs a request, and one engine alone writes them
# A bucket that is not there must not hold an engine's start up for the three minutes of LanceDB's defaults.
_PATIENCE = {"client_max_retries": "4", "client_retry_timeout": "30", "connect_timeout": "5s", "request_timeout": "60s"}


async def connect(path: str, *, session: Session | None = None, fresh: timedelta | None = None) -> AsyncConnection:
    """A connection to the store at `path`; credentials and endpoint of a bucket are in the standard AWS_* variables, which LanceDB reads.

    `fresh` is how old what is read may be: nothing in a folder, a second in a bucket, unless it is said.
    """
    if not is_shared(path):
        return await lancedb.connect_async(path, read_consistency_interval=fresh or ALWAYS, session=session)
    interval = EVERY_SECOND if fresh is None else fresh
    return await lancedb.connect_async(path, read_consistency_interval=interval, session=session, storage_options=_PATIENCE)
