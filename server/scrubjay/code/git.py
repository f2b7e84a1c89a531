"""Reads a repository: its files in the working tree or at a commit, and their history.

Each question is one `git` process with a limit of a few seconds, which runs no program of the repository.
Without an answer (no git, a foreign owner, a missing commit) the result is None, and nothing is claimed.
"""

import glob
import io
import os
import re
import subprocess
from collections.abc import Collection, Iterable
from typing import NamedTuple

from scrubjay.code.definitions import DIGEST, SOURCES, digest, has_definitions
from scrubjay.code.names import Listing
from scrubjay.home.repositories import WorkTree
from scrubjay.text.tables import listed

SECONDS = 4.0  # for one process while a search waits
LONG_SECONDS = 60.0  # for one process in the background
MOST_FILES = 100_000  # files that are listed of a tree
MOST_UNTRACKED = 100  # untracked files that are read to find a moved one
MOST_COMMITS = 100  # commits that are counted of a file's changes
LARGEST = 1_000_000  # bytes of a file that is read
LATEST = 4_102_444_800  # seconds since 1970, the year 2100; later times of commits come from wrong clocks
SHORT = 12  # hex digits of a shortened commit id

# Overrides of settings with which a repository could make git run a program, and of settings of the user
# that change the form of git's output.
_SAFE = (
    "core.fsmonitor=false core.hooksPath=/dev/null log.showSignature=false core.quotePath=false"
    " color.ui=false color.grep=false grep.lineNumber=false grep.column=false submodule.recurse=false"
).split()
# Authors that are programs, such as "dependabot[bot]" and "release-bot".
_ROBOT = re.compile(
    rb"\[bot\]|[ _-]bot\b|^(?:dependabot|renovate|greenkeeper|pre-commit-ci)\b", re.IGNORECASE
)
_ENV = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}


def git(
    root: str,
    *arguments: str,
    stdin: bytes | None = None,
    codes: Collection[int] = (0,),
    seconds: float = SECONDS,
) -> bytes | None:
    """Return the output of a git command, or None if it failed or took too long."""
    settings = [part for setting in _SAFE for part in ("-c", setting)]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        process = subprocess.run(
            ["git", "-C", root, "--no-pager", *settings, *arguments],
            check=False,
            input=b"" if stdin is None else stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=inherited | _ENV,
            timeout=seconds,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return process.stdout if process.returncode in codes else None


class Tree:
    """The files of a repository: in the working tree, or at `commit`."""

    def __init__(self, work: WorkTree, commit: str | None = None, seconds: float = LONG_SECONDS) -> None:
        self.work, self.commit, self._seconds = work, commit, seconds
        self._listing: Listing | None = None

    def _git(self, *arguments: str, stdin: bytes = b"", codes: Collection[int] = (0,)) -> bytes | None:
        return git(self.work.root, *arguments, stdin=stdin, codes=codes, seconds=self._seconds)

    def listing(self) -> Listing:
        """Return the tracked files, and for the working tree also the untracked ones that are not ignored."""
        if self._listing is None:
            at_commit = f"ls-tree -r -z --name-only --full-tree {self.commit}"
            command = at_commit if self.commit else "ls-files -z -c -o --exclude-standard"
            roots = {self.work.root, os.path.abspath(self.work.root)}
            self._listing = Listing(_names(self._git(*command.split()), MOST_FILES), sorted(roots))
        return self._listing

    def read(self, paths: Collection[str]) -> dict[str, bytes]:
        """Return the contents of these files, but not of links and large files."""
        if self.commit is not None:
            return self._read_commit([path for path in paths if "\n" not in path])
        contents = ((path, read_file(self.work.root, path)) for path in paths)
        return {path: content for path, content in contents if content is not None}

    def _read_commit(self, paths: list[str]) -> dict[str, bytes]:
        request = b"".join(os.fsencode(f"{self.commit}:{path}\n") for path in paths)
        answer = self._git("cat-file", "--batch", stdin=request) if paths else None
        output = io.BytesIO(answer or b"")
        contents: dict[str, bytes] = {}
        for path in paths:
            words = output.readline().split()
            if words[-2:-1] == [b"blob"]:
                content = output.read(int(words[-1]))
                output.readline()
                if len(content) <= LARGEST:
                    contents[path] = content
        return contents

    def files_defining(self, names: Iterable[str]) -> dict[str, set[str]] | None:
        """Map each name to the files with a line that seems to define it; None if git takes too long."""
        valid_names = sorted({name for name in names if re.fullmatch(r"[\w$]+", name)})
        if not valid_names:
            return {}
        patterns = [part for name in valid_names for part in ("-e", name)]
        where = [self.commit] if self.commit else ["--untracked"]
        output = self._git("grep", "-z", "-I", "-w", "-F", *patterns, *where, "--", *SOURCES, codes=(0, 1))
        if output is None:
            return None
        by_keyword: dict[str, set[str]] = {}
        by_other_form: dict[str, set[str]] = {}
        keyword, other_form = _defining_patterns(valid_names)
        for line in output.split(b"\n"):
            name, _, text = line.partition(b"\0")
            path = os.fsdecode(name).removeprefix(f"{self.commit}:")
            line_text = text[:500].decode("utf-8", "replace")
            if not has_definitions(path):
                continue
            if match := keyword.search(line_text):
                by_keyword.setdefault(match[1], set()).add(path)
            elif match := other_form.match(line_text):
                by_other_form.setdefault(match[1], set()).add(path)
        return by_other_form | by_keyword


def _names(output: bytes | None, most: int) -> list[str]:
    """Return the first names in an output that separates them by NUL."""
    return [os.fsdecode(name) for name in (output or b"").split(b"\0", most)[:most] if name]


def read_file(root: str, path: str) -> bytes | None:
    """Return the content of a file of a working tree; None for a link, a folder or a large file."""
    full_path = os.path.join(root, path)
    try:
        if os.path.islink(full_path) or not os.path.isfile(full_path) or os.path.getsize(full_path) > LARGEST:
            return None
        with open(full_path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _defining_patterns(names: Collection[str]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns of lines that may define a name: after a keyword, or before `=`, `:`, `(` or `{`."""
    any_name = "|".join(map(re.escape, names))
    keyword = rf"\b(?:{'|'.join(listed('defining_line'))})!?\s+(?:\([^)]*\)\s*|self\.)?({any_name})\b"
    before = r"(?:[\w<>*&\[\],: ]+[ *&:]|(?:module\.)?exports\.)?"  # a type, or an object of Node.js
    return re.compile(keyword), re.compile(rf"\s*{before}({any_name})\s*(?:[=:({{]|$)")


def may_define(content: bytes, name: str) -> bool:
    """Return True if a line of a file seems to define a name."""
    keyword, other_form = _defining_patterns([name])
    lines = (line[:500] for line in content.decode("utf-8", "replace").splitlines() if name in line)
    return any(keyword.search(line) or other_form.match(line) for line in lines)


def head_at(work: WorkTree, seconds: float) -> tuple[str, str | None] | None:
    """Return HEAD's commit and branch at a time, from the reflog, or else the commit by its date."""
    commit = branch = None
    for line in _lines(os.path.join(work.git_dir, "logs", "HEAD")):
        entry, _, action = line.partition("\t")
        parts = entry.split()
        if len(parts) < 4 or not parts[-2].isdigit() or int(parts[-2]) > seconds:
            break
        commit = parts[1]
        if action.startswith("checkout: moving from "):
            branch = action.rpartition(" to ")[2].strip()
    if commit is None:
        output = git(work.root, "rev-list", "-1", f"--before={int(seconds)}", "HEAD")
        commit = (output or b"").decode().strip() or None
    return None if commit is None else (commit, branch)


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(20_000_000).splitlines()
    except OSError:
        return []


def is_merged(work: WorkTree, commit: str) -> bool | None:
    """Return True if a commit is an ancestor of HEAD, or None if git does not know."""
    base = git(work.root, "merge-base", commit, "HEAD", codes=(0, 1))
    return None if base is None else base.startswith(commit.encode())


def branches_with(work: WorkTree, commit: str) -> list[str]:
    """Return the local branches that contain a commit."""
    output = git(
        work.root, "for-each-ref", f"--contains={commit}", "--format=%(refname:lstrip=2)", "refs/heads"
    )
    return (output or b"").decode("utf-8", "replace").split()


def changes_since(work: WorkTree, commit: str, path: str) -> list[int] | None:
    """Return the times of the commits since `commit` that changed a file, newest first, at most 100."""
    options = ("-n", str(MOST_COMMITS), "--format=%ct")
    output = git(work.root, "log", *options, f"{commit}..HEAD", "--", f":(literal){path}")
    return None if output is None else [int(line) for line in output.split()]


def new_path_since(work: WorkTree, commit: str, path: str) -> str | None:
    """Return the new path of a missing file that was renamed since a commit, "" if it was removed.

    Return None if the file is only not checked out. If that commit does not have the file yet, or a file that
    differs too much, the comparison begins at the parent of the commit that removed the file.
    """
    entry = git(work.root, "ls-files", "-t", "-s", "-z", "--", f":(literal){path}")
    if entry is None or entry.startswith(b"S"):
        return None
    if entry:
        return _moved_unstaged(work, path, blob=entry.split()[2].decode()[:DIGEST])
    if new_path := _removed_since(work, commit).get(path):
        return new_path
    options = ("-n", "1", "--format=%H", "--diff-filter=D", "--no-renames", "--", f":(literal){path}")
    removing_commit = (git(work.root, "log", *options) or b"").decode().strip()
    return _removed_since(work, f"{removing_commit}^").get(path, "") if removing_commit else ""


def _moved_unstaged(work: WorkTree, path: str, blob: str) -> str:
    """Return the only untracked file with the content that the index has for a missing file, or ""."""
    pattern = f":(glob)**/*{glob.escape(os.path.splitext(path)[1])}"
    output = git(work.root, "ls-files", "-o", "-z", "--exclude-standard", "--", pattern)
    contents = Tree(work).read(_names(output, MOST_UNTRACKED))
    matches = [name for name, content in contents.items() if digest(content) == blob]
    return matches[0] if len(matches) == 1 else ""


def _removed_since(work: WorkTree, commit: str) -> dict[str, str]:
    """Return the files that a commit has but the index lacks, each with its new path or "".

    The working tree itself is not compared, because git would run the repository's filters for that.
    """
    options = ("--cached", "--name-status", "-z", "-M", "--diff-filter=DR", "--no-ext-diff", "--no-textconv")
    parts = iter(os.fsdecode(git(work.root, "diff", *options, commit, "--") or b"").split("\0"))
    return {next(parts): next(parts) if status.startswith("R") else "" for status in parts if status}


class Commit(NamedTuple):
    """One commit: its id, its time in seconds since 1970, its message, and the files that it changed."""

    id: str
    at: int
    message: str = ""
    files: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        """The beginning of its id, for display."""
        return self.id[:SHORT]

    @property
    def subject(self) -> str:
        """The first line of its message."""
        return self.message.partition("\n")[0].strip()


def commits_of(work: WorkTree, path: str, lines: tuple[int, int] | None, most: int) -> list[Commit]:
    """Return the commits that changed a file, or lines of it, newest first, without merges and robots.

    The commits of a file include its path at that time, because it may have been renamed.
    """
    options = ("-s", f"-L{lines[0]},{lines[1]}:{path}") if lines else ("--follow", "--name-only", "--", path)
    return (_log(work, SECONDS, "%B", "-n", str(2 * most), *options) or [])[:most]


def history(work: WorkTree, most: int) -> list[Commit] | None:
    """Return the ids and times of the newest commits of HEAD and all local branches, newest first.

    Leave out merges and robots. Return None if git does not answer.
    """
    return _log(work, LONG_SECONDS, "", "-n", str(most), "--branches", "HEAD", "--")


def read_commits(work: WorkTree, ids: Iterable[str]) -> list[Commit] | None:
    """Return these commits with messages and files; the oldest commits of a shallow clone get no files."""
    options = ("--no-walk=unsorted", "--stdin", "--name-only", "--root", "--no-renames")
    stdin = "".join(f"{commit_id}\n" for commit_id in ids).encode()
    shallow_ids = _lines(os.path.join(work.common, "shallow"))
    commits = _log(work, LONG_SECONDS, "%B", *options, stdin=stdin)
    return commits and [
        commit._replace(files=()) if commit.id in shallow_ids else commit for commit in commits
    ]


def _log(
    work: WorkTree, seconds: float, message: str, *arguments: str, stdin: bytes | None = None
) -> list[Commit] | None:
    """Return commits from one `git log`, without merges and robots; `message` is the format of messages."""
    options = ("-z", "--no-merges", "--no-ext-diff", "--no-textconv", "--encoding=UTF-8")
    # a NUL before each commit, and a dot before a message, which may be empty
    commit_format = f"--format=%x00%H%x00%ct%x00%an <%ae>%x00.{message}"
    output = git(work.root, "log", *options, commit_format, *arguments, stdin=stdin, seconds=seconds)
    rows = (row.split(b"\0") for row in (output or b"").strip(b"\0").split(b"\0\0") if row)
    return None if output is None else [_commit(*row) for row in rows if not _ROBOT.search(row[2])]


def _commit(name: bytes, at: bytes, _: bytes, message: bytes, *files: bytes) -> Commit:
    names = tuple(file.removeprefix(b"\n").decode("utf-8", "backslashreplace") for file in files)
    text = message[1:].decode("utf-8", "replace").strip()
    return Commit(name.decode(), min(int(at), LATEST), text, names)
