"""Any body is accepted or refused: damaged bodies of JSON and of forms."""

from __future__ import annotations

import httpx2
import pytest
from damaged import damaged
from hypothesis import given

FORM = (
    b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nOwls.\r\n'
    b'--b\r\nContent-Disposition: form-data; name="containerTag"\r\n\r\nowls\r\n--b--\r\n'
)


# a form that ends in the middle of a file leaves that for the garbage collector to close
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@given(damaged(FORM))
async def test_any_form_is_answered(http: httpx2.AsyncClient, body: bytes) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    answer = await http.post("/v3/documents/file", content=body, headers=headers)
    assert answer.status_code < 500 and answer.json()


@given(
    damaged(
        b'{"q": "owls", "limit": 5, "filters": {"AND": [{"key": "a", "value": "b"}]}, "containerTag": "owls"}'
    )
)
async def test_any_body_is_answered(http: httpx2.AsyncClient, body: bytes) -> None:
    for path in ("/v4/search", "/v3/search", "/ns/owls/search", "/api/v1/search"):
        answer = await http.post(path, content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code < 500, (path, answer.text)
