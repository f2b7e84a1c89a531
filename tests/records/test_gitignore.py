"""A .gitignore excludes the same paths as in git, in time linear in its length and that of a path."""

from __future__ import annotations

import itertools
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.records.ingest.gitignore import Rules

NAMES = ["a", "b", "ab", "aab", ".a", "a b", "[", "a]", "!a", "#", "-", "\\a", "*", "A", "0"]
FOLDERS = ["a", "b", "ab", "[", "0"]
PARTS = [
    *"ab?/!# -[]\\A0*",
    *("**", "***", "**/", "/**", "ab", "[ab]", "[!a]", "[^b]", "[a-c]", "[]]", "[]-a]", "[--0]", "[z-a]"),
    *("[\\]]", "[a/b]", "[[a]", "[!]a]", "[a-", "\\*", "\\ "),
]


def kept_out(lines: list[str], path: str, is_folder: bool) -> bool:
    rules = Rules(lines)
    above = itertools.accumulate(path.split("/")[:-1], "{}/{}".format)
    return any(rules.verdict(folder, True) for folder in above) or bool(rules.verdict(path, is_folder))


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bool]]:
    """A repository with odd names, three levels deep; also its paths, and which are folders."""
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    paths: dict[str, bool] = {}
    for folder in ["", *(f"{name}/" for name in FOLDERS), "a/b/", "a/a/", "ab/b/"]:
        for name in NAMES:
            is_folder = any(f"{folder}{name}" == each for each in (*FOLDERS, "a/b", "a/a", "ab/b"))
            (root / folder).mkdir(exist_ok=True)
            if not is_folder:
                (root / folder / name).touch()
            paths[f"{folder}{name}"] = is_folder
    return root, paths


# git reads `a**/` as `a*/` or as `**/`, depending on memory addresses (wildmatch.c, `prev_p < text`).
@given(
    st.lists(st.lists(st.sampled_from(PARTS), min_size=1, max_size=7).map("".join), min_size=1, max_size=3)
)
def test_the_same_paths_are_ignored_as_git_ignores(
    repository: tuple[Path, dict[str, bool]], lines: list[str]
) -> None:
    root, paths = repository
    lines = [line.replace("**/", "*/") if "**/" in line.lstrip("!/*") else line for line in lines]
    (root / ".gitignore").write_text("".join(f"{line}\n" for line in lines))
    command = ["git", "check-ignore", "--no-index", "-z", "--stdin"]
    asked = "\0".join(paths)
    answer = subprocess.run(command, input=asked, text=True, capture_output=True, cwd=root, check=False)
    ours = {path for path, is_folder in paths.items() if kept_out(lines, path, is_folder)}
    assert ours == set(answer.stdout.split("\0")) - {""}


@pytest.mark.parametrize(
    ("line", "path", "is_folder", "is_out"),
    [
        ("/é?.md", "éü.md", False, True),
        ("caf\udce9.md", "caf\udce9.md", False, True),
        ("build/", "x/build", True, True),
        ("build/", "x/build", False, False),
    ],
)
def test_single_rules_match_as_documented(line: str, path: str, is_folder: bool, is_out: bool) -> None:
    assert kept_out([line], path, is_folder) is is_out


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("*a*a*a*a*a*a*a*a*a*a*a*a*b", "a" * 200 + ".md"),
        ("**/a/" * 6 + "**/b", "a/" * 60 + "x.md"),
        ("*a" * 40_000 + "b", "a" * 255),
        ("**/" * 30_000 + "b", "a/" * 200 + "c"),
        ("[" * 90_000, "a"),
        ("[a-" * 30_000, "a"),
        ("*" * 90_000 + "b", "a" * 255),
    ],
)
def test_a_hostile_rule_takes_time_linear_in_its_length(line: str, path: str) -> None:
    began = time.process_time()
    assert not kept_out([line], path, False)
    assert time.process_time() - began < 8  # a backtracking matcher needs years for the first
