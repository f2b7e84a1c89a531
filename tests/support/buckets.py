"""An S3 server for tests: moto's, which refuses a second conditional write as S3 does, with a bucket."""

from __future__ import annotations

import logging
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

BUCKET = "scrubjay-tests"


@contextmanager
def s3_server() -> Iterator[dict[str, str]]:
    """A server with one empty bucket; yields the AWS_* variables of its client."""
    from moto.server import ThreadedMotoServer  # late: it takes two seconds, and few tests need it

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        urllib.request.urlopen(urllib.request.Request(f"{endpoint}/{BUCKET}", method="PUT")).close()
        yield {
            "AWS_ENDPOINT": endpoint,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }
    finally:
        server.stop()
