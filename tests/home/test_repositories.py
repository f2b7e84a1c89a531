"""Repositories, read from git's own files: the origin in its configuration, and how a URL is normalised."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.home.repositories import normal_url, repository


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("https://github.com/corvid/jay.git", "github.com/corvid/jay"),
        ("https://user:pass@GITHUB.com/corvid/jay/", "github.com/corvid/jay"),
        ("git@github.com:corvid/jay.git", "github.com/corvid/jay"),
        ("github.com:corvid/jay", "github.com/corvid/jay"),
        ("ssh://git@github.com/corvid/jay.git", "github.com/corvid/jay"),
        ("ssh://git@host.example:2222/corvid/jay.git", "host.example:2222/corvid/jay"),
        ("git@host.example:/abs/jay.git", "host.example/abs/jay"),
        ("https://github.com/Corvid/Jay", "github.com/Corvid/Jay"),
        ("file:///srv/git/jay.git", "/srv/git/jay"),
        ("/srv/git/jay.git/", "/srv/git/jay"),
        ("../other/jay", "/home/other/jay"),
    ],
)
def test_a_normalised_url_has_no_scheme_credentials_or_suffix(url: str, normal: str) -> None:
    assert normal_url(url, "/home/base") == normal


@given(
    st.from_regex(r"[a-z]{1,9}\.[a-z]{2,3}", fullmatch=True),
    st.from_regex(r"[A-Za-z0-9_-]{1,9}/[A-Za-z0-9_-]{1,9}", fullmatch=True),
)
def test_the_scp_form_and_the_url_form_are_equal(host: str, path: str) -> None:
    assert (
        normal_url(f"git@{host}:{path}.git", "/")
        == normal_url(f"ssh://git@{host}/{path}", "/")
        == f"{host}/{path}"
    )


@pytest.mark.parametrize("before", ["", '[remote "upstream"]\n\turl = https://x.example/y\n'])
def test_the_origin_is_read_from_a_configuration_as_git_writes_it(tmp_path: Path, before: str) -> None:
    top = tmp_path / "jay"
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    (top / ".git" / "config").write_text(before)
    for name, url in (("fetch", "+a:b"), ("url", "https://github.com/corvid/jay.git")):
        subprocess.run(["git", "-C", str(top), "config", f"remote.origin.{name}", url], check=True)
    found = repository(str(top / "src"), user_home=str(tmp_path))
    assert found and found.origin == "github.com/corvid/jay"
