"""Fixtures shared by all tests: small, and named for the noun they give."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def now() -> datetime:
    return datetime(2026, 3, 5, 12, 0, tzinfo=UTC)
