"""What became of the code that a text names: in real repositories, against the working tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from git_made import Repository

from scrubjay.code.anchors import Anchor, RecordText, anchors
from scrubjay.code.git import LATEST, Commit, Tree, history, read_commits
from scrubjay.code.marks import Marker, text_of
from scrubjay.home.repositories import head_of, work_tree
from scrubjay.models.results import Mark
from scrubjay.records.ingest.commits import text_of as text_of_commit

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
    return anchors(Tree(work), *head, [RecordText(text, files)])[0]


def mark(repo: Repository | Path, anchor: Anchor, shown: str = "") -> Mark | None:
    work = work_tree(str(repo.folder if isinstance(repo, Repository) else repo), "/")
    assert work is not None
    head = head_of(work)
    return None if head is None else Marker().mark(work, head, anchor, shown)


def shown(repo: Repository | Path, anchor: Anchor) -> str | None:
    found = mark(repo, anchor)
    return found and found.text


def marked(repo: Repository | Path, anchor: Anchor, kind: str, **fields: object) -> Mark:
    """The mark of an anchor, which has this kind and these fields."""
    found = mark(repo, anchor)
    assert found is not None and found.kind == kind
    assert {name: getattr(found, name) for name in fields} == fields
    return found


def read(repo: Repository | Path) -> list[Commit]:
    work = work_tree(str(repo.folder if isinstance(repo, Repository) else repo), "/")
    assert work is not None
    return read_commits(work, [each.id for each in history(work, 9) or ()]) or []


def test_a_file_that_could_not_be_read_is_read_at_the_next_question(repo: Repository) -> None:
    anchor, marker, path = noted(repo, "src/b.py has one class."), Marker(), repo.folder / "src" / "b.py"
    work = work_tree(str(repo.folder), "/")
    assert work is not None
    head = head_of(work)
    assert head is not None
    path.unlink()
    path.symlink_to("x" * 20)
    os.utime(path, ns=(1, 1), follow_symlinks=False)
    assert marker.mark(work, head, anchor, "") is None
    path.unlink()
    path.write_text("#" * 20)
    os.utime(path, ns=(1, 1))
    changed = marker.mark(work, head, anchor, "")
    assert changed is not None and changed.kind == "changed"


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
    marked(repo, anchor, "changed", symbol="retry", commits=0)
    for at in (3, 4):
        repo.commit({"src/a.py": A.replace("* 2", f"* {at}")})
    assert marked(repo, anchor, "changed", commits=2).text.startswith("changed since (2 commits, last ")


def test_renamed_and_removed_files_are_told_apart(repo: Repository) -> None:
    moved, gone = noted(repo, "`Queue` is in src/b.py."), noted(repo, "See docs/notes.md.")
    repo.git("mv", "src/b.py", "src/c.py")
    repo.git("rm", "--quiet", "docs/notes.md")
    assert (shown(repo, moved), shown(repo, gone)) == ("now in src/c.py", "gone")
    repo.commit({}, "Move")
    assert (shown(repo, moved), shown(repo, gone)) == ("now in src/c.py", "gone")


def test_a_definition_is_followed_to_the_only_file_that_has_it_now(repo: Repository) -> None:
    moved, gone = noted(repo, "`retry` doubles."), noted(repo, "`stop` returns.")
    repo.commit({"src/a.py": "LIMIT = 3\n", "src/d.py": "def retry(n):\n    return n * 2\n"})
    assert (shown(repo, moved), shown(repo, gone)) == ("now in src/d.py", "gone")


def test_a_file_that_was_new_when_it_was_named_is_followed_too(repo: Repository) -> None:
    repo.write({"src/new.txt": "some text of the new file\n" * 3})
    anchor = noted(repo, "I added src/new.txt.")
    repo.commit({})
    assert mark(repo, anchor) is None
    repo.git("mv", "src/new.txt", "src/old.txt")
    repo.commit({})
    assert shown(repo, anchor) == "now in src/old.txt"


def test_a_file_that_was_rewritten_before_it_moved_is_followed_too(repo: Repository) -> None:
    moved, gone = noted(repo, "docs/notes.md is for notes."), noted(repo, "src/b.py has one class.")
    repo.commit(
        {"docs/notes.md": "Quite another text, of several words.\n", "src/b.py": "def other(): ...\n"}
    )
    repo.git("mv", "docs/notes.md", "docs/log.md")
    repo.git("rm", "--quiet", "src/b.py")
    repo.commit({})
    assert (shown(repo, moved), shown(repo, gone)) == ("changed, now in docs/log.md", "gone")


def test_what_was_said_on_a_branch_is_marked_until_it_is_merged(repo: Repository) -> None:
    repo.git("checkout", "--quiet", "-b", "feature")
    repo.commit({"src/f.py": "def feature():\n    return 1\n"})
    anchor = noted(repo, "`feature` is switched on by a flag.")
    assert mark(repo, anchor) is None
    repo.git("checkout", "--quiet", "main")
    assert shown(repo, anchor) == "only on branch feature"
    repo.git("merge", "--quiet", "feature")
    assert mark(repo, anchor) is None


def test_a_branch_that_was_merged_by_squash_is_not_named(repo: Repository) -> None:
    repo.git("checkout", "--quiet", "-b", "feature")
    repo.commit({"src/f.py": "def feature():\n    return 1\n"})
    anchor = noted(repo, "`feature` is switched on by a flag.")
    repo.git("checkout", "--quiet", "main")
    repo.git("merge", "--quiet", "--squash", "feature")
    repo.commit({"README": "It has a feature.\n"})
    assert mark(repo, anchor) is None
    repo.write({"src/f.py": "def feature():\n    return 2\n"})  # not committed
    marked(repo, anchor, "changed")


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
    marked(tmp_path / "linked/src", anchor, "changed")
    assert mark(repo, anchor) is None


def test_an_edit_that_was_never_committed_and_is_not_here_is_no_edit_of_today(repo: Repository) -> None:
    repo.write({"src/a.py": A.replace("* 2", "* 3")})
    anchor = noted(repo, "`retry` triples.")
    repo.git("checkout", "--quiet", "src/a.py")
    assert shown(repo, anchor) == "changed since"
    repo.write({"src/a.py": A.replace("* 2", "* 4")})
    assert "not committed" in str(shown(repo, anchor))


def test_a_shallow_clone_counts_no_commits_that_it_does_not_have(repo: Repository, tmp_path: Path) -> None:
    anchor = noted(repo, "`retry` doubles, see docs/notes.md.")
    repo.commit({"src/a.py": A.replace("* 2", "* 3")})
    repo.git("clone", "--quiet", "--depth=1", f"file://{repo.folder}", str(tmp_path / "shallow"))
    assert shown(tmp_path / "shallow", anchor) == "changed since"


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


@pytest.mark.parametrize(
    "begins",
    ["<<<<<<< HEAD\nX = 1\n=======\nX = (2\n>>>>>>> other\n", "X = call(1, [2\n", "def half(\n"],
    ids=["conflict", "bracket", "half"],
)
def test_in_a_file_that_is_half_written_nothing_is_marked_as_gone(repo: Repository, begins: str) -> None:
    anchor = noted(repo, "`stop` returns.")
    repo.write({"src/a.py": begins + A})
    assert mark(repo, anchor) is None
    repo.write({"src/a.py": begins + A.replace("stop", "end")})
    assert shown(repo, anchor) == "gone"


def test_a_rename_is_followed_if_only_the_case_changes_or_the_file_is_edited_too(repo: Repository) -> None:
    anchor = noted(repo, "`retry` in src/a.py doubles.")
    repo.git("mv", "src/a.py", "src/A.py")
    repo.commit({"src/A.py": A.replace("LIMIT = 3", "LIMIT = 4")})
    assert shown(repo, anchor) == "now in src/A.py"
    repo.git("mv", "src/A.py", "src/z.py")
    repo.commit({"src/z.py": A.replace("LIMIT = 3", "LIMIT = 5")})
    assert shown(repo, anchor) == "now in src/z.py"


@pytest.mark.parametrize("text", ["`LIMIT` is 3.", "`LIMIT` is 3, see src/a.py.", "It stands in src/a.py."])
@pytest.mark.parametrize("is_committed", [True, False])
def test_the_mark_of_moved_code_says_whether_it_changed_too(
    repo: Repository, text: str, is_committed: bool
) -> None:
    anchor = noted(repo, text)
    repo.git("mv", "src", "lib")
    repo.git("mv", "lib/a.py", "lib/cleanup.py")
    for value, kind in ((3, "moved"), (5, "changed"), (3, "moved")):
        repo.write({"lib/cleanup.py": A.replace("LIMIT = 3", f"LIMIT = {value}")})
        if is_committed:
            repo.git("add", "--all")
            repo.git("commit", "--quiet", "--allow-empty", "--message", "Change")
        assert ("changed" in marked(repo, anchor, kind, now="lib/cleanup.py").text) == (kind == "changed")


def test_a_definition_that_moved_to_another_file_with_another_value_is_marked_as_changed(
    repo: Repository,
) -> None:
    anchor = noted(repo, "`LIMIT` is 3.")
    repo.commit({"src/a.py": A.replace("LIMIT = 3\n", ""), "src/b.py": f"LIMIT = 4\n{B}"})
    marked(repo, anchor, "changed", now="src/b.py")


def test_of_two_named_definitions_a_changed_one_counts_more_than_a_moved_one(repo: Repository) -> None:
    anchor = noted(repo, "`Queue` waits, `LIMIT` is 3.")
    repo.git("mv", "src/b.py", "src/queue.py")
    repo.commit({"src/a.py": A.replace("LIMIT = 3", "LIMIT = 4")})
    marked(repo, anchor, "changed", symbol="LIMIT")


def test_a_folder_that_became_a_link_or_a_submodule_with_the_same_files_is_not_marked(
    repo: Repository,
) -> None:
    anchor = noted(repo, "`retry` in src/a.py doubles.")
    repo.git("mv", "src", "lib")
    os.symlink("lib", repo.folder / "src")
    repo.commit({})
    assert mark(repo, anchor) is None
    repo.git("rm", "-r", "--quiet", "src")
    Repository(repo.folder / "src").commit({"a.py": A})
    repo.git("-c", "advice.addEmbeddedRepo=false", "add", "src")
    repo.commit({})
    assert mark(repo, anchor) is None


def test_of_definitions_with_one_name_in_a_file_each_is_judged_by_its_class(repo: Repository) -> None:
    both = B + "\n\n" + B.replace("Queue", "Stack")
    repo.commit({"src/b.py": both})
    queue, either = noted(repo, "`Queue.run` in src/b.py."), noted(repo, "`run` in src/b.py.")
    assert either.files[0].symbols == ()
    repo.commit({"src/b.py": B + "\n\n" + B.replace("Queue", "Stack").replace("3", "4")})
    assert mark(repo, queue) is None
    repo.commit({"src/b.py": B.replace("Queue", "Stack")})
    assert shown(repo, queue) == "gone"


def test_what_was_said_on_a_detached_head_has_no_branch(repo: Repository) -> None:
    repo.git("checkout", "--quiet", "--detach")
    repo.commit({"docs/notes.md": "Two lines.\n"})
    anchor = noted(repo, "`retry` doubles.")
    repo.git("checkout", "--quiet", "main")
    assert anchor.branch is None and mark(repo, anchor) is None


@pytest.mark.long
def test_a_repository_of_a_hundred_thousand_files_is_judged_in_time(repo: Repository) -> None:
    blob = repo.git("hash-object", "-w", "src/a.py")
    index = "".join(f"100644 {blob} 0\tpkg{at % 300}/mod{at}.py\n" for at in range(110_000))
    command = ["git", "-C", str(repo.folder), "update-index", "--index-info"]
    subprocess.run(command, input=index.encode(), check=True)
    repo.git("commit", "--quiet", "--message", "Many files")
    anchor = noted(repo, "`Queue` in src/b.py waits.")
    repo.write({"src/b.py": "X = 1\n"})
    begun = time.perf_counter()
    assert shown(repo, anchor) == "gone"
    assert time.perf_counter() - begun < 8.0
    newest, _ = read(repo)
    assert len(text_of_commit(newest)) < 2_000 and len(newest.files) == 110_000


def test_commits_with_odd_names_messages_and_dates_are_read(repo: Repository) -> None:
    (repo.folder / "a\nb.txt").write_text("x")
    with open(os.path.join(os.fsencode(repo.folder), b"caf\xe9.txt"), "wb") as file:
        file.write(b"x")
    repo.commit({}, "Odd \x01 names")
    repo.git("commit", "--quiet", "--allow-empty", "--allow-empty-message", "--message", "")
    repo.git("checkout", "--quiet", "--detach")
    late = {"GIT_COMMITTER_DATE": "@99999999999 +0000", "PATH": os.environ["PATH"], "HOME": str(repo.folder)}
    names = ["-c", "user.name=J", "-c", "user.email=j"]
    command = ["git", "-C", str(repo.folder), *names, "commit", "-q", "--allow-empty", "-m", "Late"]
    subprocess.run(command, check=True, env=late)
    commits = read(repo)
    subjects = sorted(text_of_commit(each).partition("\n")[0] for each in commits)
    assert subjects == ["Change", "Late", "No message.", "Odd \x01 names"]
    odd = next(each for each in commits if each.subject.startswith("Odd"))
    assert odd.files == ("a\nb.txt", "caf\\xe9.txt") and max(each.at for each in commits) == LATEST
    empty = work_tree(str(Repository(repo.folder / "empty").folder), "/")
    assert empty is not None and history(empty, 9) is None


def test_where_a_shallow_clone_begins_a_commit_has_no_files(repo: Repository, tmp_path: Path) -> None:
    repo.commit({"src/a.py": "X = 1\n"}, "Shrink")
    repo.git("clone", "--quiet", "--depth=1", f"file://{repo.folder}", str(tmp_path / "shallow"))
    (commit,) = read(tmp_path / "shallow")
    assert text_of_commit(commit) == "Shrink"


def test_no_mark_takes_more_than_twelve_tokens() -> None:
    long = "a/very/long/path/of/folders/" * 9 + "file.py"
    marks = [text_of(kind, long) for kind in ("moved", "changed", "branch")]
    marks += [text_of("gone"), text_of("changed", None, 100, datetime(2026, 11, 20, tzinfo=UTC))]
    assert all(len(each) <= 48 for each in marks)


def test_settings_of_git_that_change_its_output_hide_no_definition(repo: Repository) -> None:
    for name in ("grep.lineNumber", "grep.column", "submodule.recurse"):
        repo.git("config", name, "true")
    for name in ("color.ui", "color.grep"):
        repo.git("config", name, "always")
    anchor = noted(repo, "`retry` doubles, `LIMIT` is 3.")
    assert [name for name, _ in anchor.files[0].symbols] == ["retry", "LIMIT"]
    repo.commit({"src/a.py": "LIMIT = 3\n", "src/d.py": "def retry(n):\n    return n * 2\n"})
    assert shown(repo, anchor) == "now in src/d.py"


def test_a_file_that_was_moved_without_git_is_followed_by_its_content(repo: Repository) -> None:
    moved, gone = noted(repo, "See docs/notes.md."), noted(repo, "See src/b.py.")
    (repo.folder / "docs/notes.md").rename(repo.folder / "read me.md")
    (repo.folder / "src/b.py").unlink()
    repo.write({"src/other.py": "X = 1\n"})
    assert (shown(repo, moved), shown(repo, gone)) == ("now in read me.md", "gone")
    shutil.copy(repo.folder / "read me.md", repo.folder / "copy.md")
    assert shown(repo, moved) == "gone"  # either may be meant


def test_a_definition_that_two_other_files_have_unchanged_is_not_gone(repo: Repository) -> None:
    anchor = noted(repo, "`retry` in src/a.py doubles.")
    body = "def retry(n):\n    return n * 2\n"
    repo.commit({"src/a.py": "X = 1\n", "src/one.py": body, "src/two.py": body})
    assert shown(repo, anchor) == "now in src/one.py"


NAMED = [
    *("Makefile", "Dockerfile", "justfile", "LICENSE", ".gitignore", ".env", "config/.eslintrc"),
    *("app/[id]/page.tsx", "app/[[...slug]]/page.tsx", "app/(group)/login/page.tsx", "routes/$post.tsx"),
    *("pages/[name].astro", "docs/My Notes.md"),
]


@pytest.mark.parametrize("path", NAMED)
def test_a_file_is_noted_by_any_name_that_projects_use(repo: Repository, path: str) -> None:
    repo.commit({path: "One line.\n", "other/page.tsx": "One line.\n"})
    anchor = noted(repo, f"The rule is in `{path}` now. Never change it.")
    assert [file.path for file in anchor.files] == [path]
    repo.commit({path: "Two lines.\n\n"})
    marked(repo, anchor, "changed", path=path)


DEFINED = {
    "a.cpp": ("std::string Store::load(int n) {\n  return x;\n}\n", "Store::load", "return x", "return y"),
    "a.js": ("exports.loadUser = async (id) => {\n  return 1;\n};\n", "loadUser", "return 1", "return 2"),
    "a.rb": ("class Q\n  def self.run_it\n    1\n  end\nend\n", "Q.run_it", "    1", "    2"),
    "a.rs": ("macro_rules! my_mac {\n    () => { 1 }\n}\n", "my_mac", "1", "2"),
    "a.cs": ("class A {\n  public int MaxSize { get; set; } = 3;\n}\n", "MaxSize", "3", "4"),
    "a.h": ("#define MAX_SIZE 3\n", "MAX_SIZE", "3", "4"),
    "a.sh": ("MAX_SIZE=3\n", "MAX_SIZE", "3", "4"),
}


@pytest.mark.parametrize("path", DEFINED)
def test_a_definition_is_found_without_the_name_of_its_file(repo: Repository, path: str) -> None:
    content, name, before, after = DEFINED[path]
    repo.commit({f"lib/{path}": content})
    anchor = noted(repo, f"We use `{name}` here.")
    assert [file.path for file in anchor.files] == [f"lib/{path}"]
    repo.commit({f"lib/{path}": content.replace(before, after)})
    assert marked(repo, anchor, "changed").symbol is not None
