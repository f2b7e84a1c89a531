"""What became of the code that a text names: in real repositories, against the working tree."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from git_made import Repository

from scrubjay.code.anchors import Anchor, Said, anchors
from scrubjay.code.git import Tree
from scrubjay.code.marks import Marker, text_of
from scrubjay.home.repositories import head_of, work_tree
from scrubjay.models.results import Mark

A = "LIMIT = 3\n\n\ndef retry(n):\n    return n * 2\n\n\ndef stop(n):\n    return n\n"
B = "class Queue:\n    def run(self):\n        return [1, 2, 3]\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "project")
    made.commit({"src/a.py": A, "src/b.py": B, "docs/notes.md": "One line.\n"})
    return made


def noted(repo: Repository, text: str, *files: str) -> Anchor:
    work = work_tree(str(repo.folder), "/")
    assert work is not None
    head = head_of(work)
    assert head is not None
    return anchors(Tree(work), *head, [Said(text, files)])[0]


def mark(repo: Repository, anchor: Anchor, shown: str = "") -> Mark | None:
    return mark_in(repo.folder, anchor, shown)


def mark_in(folder: Path, anchor: Anchor, shown: str = "") -> Mark | None:
    work = work_tree(str(folder), "/")
    assert work is not None
    head = head_of(work)
    return None if head is None else Marker().mark(work, head, anchor, shown)


def shown(repo: Repository, anchor: Anchor) -> str | None:
    found = mark(repo, anchor)
    return found and found.text


def test_what_a_text_names_is_noted_with_its_commit_and_branch(repo: Repository) -> None:
    anchor = noted(
        repo, "`retry` in src/a.py doubles, see notes.md and `Queue.run`; nothing.py is not there."
    )
    assert repo.git("rev-parse", "HEAD").startswith(anchor.commit) and anchor.branch == "main"
    names = {file.path: [name for name, _ in file.symbols] for file in anchor.files}
    assert names == {"src/a.py": ["retry"], "docs/notes.md": [], "src/b.py": ["Queue.run"]}


def test_a_definition_that_only_got_comments_or_neighbours_is_not_marked(repo: Repository) -> None:
    anchor = noted(repo, "`retry` doubles.")
    repo.write({"src/a.py": A.replace("    return n * 2", "    # twice\n    return n  *  2") + "\nX = 1\n"})
    assert mark(repo, anchor) is None


def test_a_changed_definition_is_marked_with_the_commits_since(repo: Repository) -> None:
    anchor = noted(repo, "`retry` in src/a.py doubles.")
    repo.write({"src/a.py": A.replace("* 2", "* 3")})
    found = mark(repo, anchor)
    assert found is not None and (found.kind, found.symbol, found.commits) == ("changed", "retry", 0)
    for at in (3, 4):
        repo.commit({"src/a.py": A.replace("* 2", f"* {at}")})
    found = mark(repo, anchor)
    assert (
        found is not None and found.commits == 2 and found.text.startswith("changed since (2 commits, last ")
    )


def test_a_file_that_is_named_without_a_definition_is_compared_whole(repo: Repository) -> None:
    anchor = noted(repo, "It stands in docs/notes.md.")
    repo.commit({"docs/notes.md": "Two lines.\n\n"})
    found = mark(repo, anchor)
    assert found is not None and (found.kind, found.path) == ("changed", "docs/notes.md")


def test_renamed_and_removed_files_are_told_apart(repo: Repository) -> None:
    moved, gone = noted(repo, "`Queue` is in src/b.py."), noted(repo, "See docs/notes.md.")
    repo.git("mv", "src/b.py", "src/c.py")
    repo.git("rm", "--quiet", "docs/notes.md")
    assert (shown(repo, moved), shown(repo, gone)) == ("now in src/c.py", "gone")
    repo.commit({}, "Move")
    assert (shown(repo, moved), shown(repo, gone)) == ("now in src/c.py", "gone")


def test_a_definition_is_followed_to_the_only_file_that_has_it_now(repo: Repository) -> None:
    moved, gone = noted(repo, "`retry` doubles."), noted(repo, "`stop` returns.")
    repo.commit({"src/a.py": "LIMIT = 3\n", "src/d.py": "def retry(n):\n    return n * 3\n"})
    assert (shown(repo, moved), shown(repo, gone)) == ("now in src/d.py", "gone")


def test_a_file_that_was_new_when_it_was_named_is_followed_too(repo: Repository) -> None:
    repo.write({"src/new.txt": "some text of the new file\n" * 3})
    anchor = noted(repo, "I added src/new.txt.")
    repo.commit({})
    assert mark(repo, anchor) is None
    repo.git("mv", "src/new.txt", "src/old.txt")
    repo.commit({})
    assert shown(repo, anchor) == "now in src/old.txt"


def test_what_was_said_on_a_branch_is_marked_until_it_is_merged(repo: Repository) -> None:
    repo.git("checkout", "--quiet", "-b", "feature")
    repo.commit({"src/f.py": "def feature():\n    return 1\n"})
    anchor = noted(repo, "`feature` is switched on by a flag.")
    assert mark(repo, anchor) is None
    repo.git("checkout", "--quiet", "main")
    assert shown(repo, anchor) == "only on branch feature"
    repo.git("merge", "--quiet", "feature")
    assert mark(repo, anchor) is None


def test_the_part_of_a_text_that_is_shown_decides(repo: Repository) -> None:
    anchor = noted(repo, "`retry` doubles, and `stop` returns.")
    repo.commit({"src/a.py": A.replace("* 2", "* 3")})
    assert mark(repo, anchor, "and `stop` returns") is None
    assert mark(repo, anchor, "`retry` doubles") is not None


def test_a_turn_that_only_touched_files_is_marked_when_none_of_them_holds(repo: Repository) -> None:
    anchor = noted(repo, "Done.", str(repo.folder / "src/a.py"), "src/b.py")
    repo.commit({"src/a.py": "X = 1\n"})
    assert mark(repo, anchor) is None
    repo.commit({"src/b.py": "X = 1\n"})
    assert mark(repo, anchor) is not None


def test_a_linked_working_tree_is_judged_by_its_own_files(repo: Repository, tmp_path: Path) -> None:
    anchor = noted(repo, "`retry` doubles.")
    repo.git("worktree", "add", "--quiet", "-b", "other", str(tmp_path / "linked"))
    (tmp_path / "linked/src/a.py").write_text("def retry(n):\n    return 0\n")
    found = mark_in(tmp_path / "linked/src", anchor)
    assert found is not None and found.kind == "changed"
    assert mark(repo, anchor) is None


def test_a_shallow_clone_counts_no_commits_that_it_does_not_have(repo: Repository, tmp_path: Path) -> None:
    anchor = noted(repo, "`retry` doubles, see docs/notes.md.")
    repo.commit({"src/a.py": A.replace("* 2", "* 3")})
    repo.git("clone", "--quiet", "--depth=1", f"file://{repo.folder}", str(tmp_path / "shallow"))
    found = mark_in(tmp_path / "shallow", anchor)
    assert found is not None and found.text == "changed since"


def test_links_submodules_and_files_outside_are_not_noted(repo: Repository, tmp_path: Path) -> None:
    Repository(repo.folder / "sub").commit({"inner.py": "def inner(): pass\n"})
    (tmp_path / "outside.py").write_text("def outside(): pass\n")
    os.symlink(tmp_path / "outside.py", repo.folder / "link.py")
    text = "See link.py, sub/inner.py, ../outside.py and /etc/hostname; `inner` and `outside`."
    assert noted(repo, text, str(tmp_path / "outside.py")).files == ()


def test_a_file_that_is_not_checked_out_is_not_marked(repo: Repository) -> None:
    anchor = noted(repo, "See docs/notes.md.")
    repo.git("sparse-checkout", "set", "src")
    assert not (repo.folder / "docs/notes.md").exists()
    assert mark(repo, anchor) is None


def test_a_folder_without_git_and_a_repository_without_commits_have_no_marks(
    repo: Repository, tmp_path: Path
) -> None:
    anchor = noted(repo, "`retry` doubles.")
    shutil.rmtree(repo.folder / ".git")
    assert work_tree(str(repo.folder), str(tmp_path)) is None
    assert mark(Repository(tmp_path / "empty"), anchor) is None


def test_no_mark_takes_more_than_twelve_tokens() -> None:
    long = "a/very/long/path/of/folders/" * 9 + "file.py"
    last = datetime(2026, 11, 20, tzinfo=UTC)
    marks = [
        text_of("moved", long),
        text_of("branch", long),
        text_of("gone"),
        text_of("changed", None, 100, last),
    ]
    assert all(len(each) <= 48 for each in marks)
