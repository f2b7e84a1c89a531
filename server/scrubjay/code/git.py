"""Reads a repository: its files in the working tree or at a commit, and what happened to them.

Each question is one `git` process that runs nothing of the repository's own and gets a few seconds. Without
an answer (no git, a foreign owner, a missing commit) the result is None, and nothing is claimed.
"""

import os
import re
import subprocess
from collections.abc import Collection, Iterable
from typing import NamedTuple

from scrubjay.code.definitions import SOURCES, has_definitions
from scrubjay.code.names import Listing
from scrubjay.home.repositories import WorkTree
from scrubjay.text.tables import listed

SECONDS = 4.0  # for one process while a search waits
LONG_SECONDS = 60.0  # in the background
MOST_FILES = 100_000  # files of a tree that are listed
MOST_COMMITS = 100  # that are counted
LARGEST = 1_000_000  # bytes of a file that is read
LATEST = 4_102_444_800  # seconds since 1970 of a commit, the year 2100: some clocks were wrong
SHORT = 12  # hex digits of a commit

# Settings with which a repository could make git run a program.
_SAFE = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "log.showSignature=false",
    "core.quotePath=false",
)
# Authors that are programs, such as "dependabot[bot]" and "release-bot".
_ROBOT = re.compile(
    rb"\[bot\]|[ _-]bot\b|^(?:dependabot|renovate|greenkeeper|pre-commit-ci)\b", re.IGNORECASE
)
_ENV = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}


def git(
    root: str,
    *arguments: str,
    given: bytes | None = None,
    codes: Collection[int] = (0,),
    seconds: float = SECONDS,
) -> bytes | None:
    """Return the output of a git command; None if it failed or took too long."""
    settings = [part for setting in _SAFE for part in ("-c", setting)]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", root, "--no-pager", *settings, *arguments],
            check=False,
            input=b"" if given is None else given,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=inherited | _ENV,
            timeout=seconds,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode in codes else None


class Tree:
    """The files of a repository: in the working tree, or at `commit`."""

    def __init__(self, work: WorkTree, commit: str | None = None, seconds: float = LONG_SECONDS) -> None:
        self.work, self.commit, self._seconds = work, commit, seconds
        self._listing: Listing | None = None

    def _git(self, *arguments: str, given: bytes = b"", codes: Collection[int] = (0,)) -> bytes | None:
        return git(self.work.root, *arguments, given=given, codes=codes, seconds=self._seconds)

    def listing(self) -> Listing:
        """Return the tracked files, and in the working tree those that are neither tracked nor ignored."""
        if self._listing is None:
            files = (
                ["ls-tree", "-r", "-z", "--name-only", "--full-tree", self.commit] if self.commit else None
            )
            found = self._git(*(files or ["ls-files", "-z", "-c", "-o", "--exclude-standard"]))
            names = (found or b"").split(b"\0", MOST_FILES)[:MOST_FILES]
            roots = {self.work.root, os.path.abspath(self.work.root)}
            self._listing = Listing((os.fsdecode(name) for name in names if name), sorted(roots))
        return self._listing

    def read(self, paths: Collection[str]) -> dict[str, bytes]:
        """Return the contents of files, without links and large files."""
        if self.commit is not None:
            return self._read_commit(list(paths))
        contents = ((path, read_file(self.work.root, path)) for path in paths)
        return {path: content for path, content in contents if content is not None}

    def _read_commit(self, paths: list[str]) -> dict[str, bytes]:
        asked = b"".join(os.fsencode(f"{self.commit}:{path}\n") for path in paths if "\n" not in path)
        out = self._git("cat-file", "--batch", given=asked) if paths else None
        contents: dict[str, bytes] = {}
        at = 0
        for path in (path for path in paths if "\n" not in path):
            head, _, _ = (out or b"")[at : at + 5000].partition(b"\n")
            at += len(head) + 1
            if (words := head.split()) and words[-2:-1] == [b"blob"]:
                size = int(words[-1])
                if size <= LARGEST:
                    contents[path] = (out or b"")[at : at + size]
                at += size + 1
        return contents

    def defining(self, names: Iterable[str]) -> dict[str, set[str]] | None:
        """Return for each name the files with a line that seems to define it; None if git takes too long."""
        wanted = sorted({name for name in names if re.fullmatch(r"[\w$]+", name)})
        if not wanted:
            return {}
        patterns = [part for name in wanted for part in ("-e", name)]
        where = [self.commit] if self.commit else ["--untracked"]
        out = self._git("grep", "-z", "-I", "-w", "-F", *patterns, *where, "--", *SOURCES, codes=(0, 1))
        if out is None:
            return None
        by_keyword: dict[str, set[str]] = {}
        others: dict[str, set[str]] = {}
        keyword, other = _defining_line(wanted)
        for line in out.split(b"\n"):
            name, _, text = line.partition(b"\0")
            path = os.fsdecode(name).removeprefix(f"{self.commit}:")
            if has_definitions(path):
                shown = text[:500].decode("utf-8", "replace")
                if match := keyword.search(shown):
                    by_keyword.setdefault(match[1], set()).add(path)
                elif match := other.match(shown):
                    others.setdefault(match[1], set()).add(path)
        return others | by_keyword


def read_file(root: str, path: str) -> bytes | None:
    """Return the content of a file of a working tree; None for a link, a folder or a large file."""
    place = os.path.join(root, path)
    try:
        if os.path.islink(place) or not os.path.isfile(place) or os.path.getsize(place) > LARGEST:
            return None
        with open(place, "rb") as file:
            return file.read()
    except OSError:
        return None


def _defining_line(names: Collection[str]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return rules for a line that may define a name: it follows a keyword, or precedes `=`, `:` or `(`."""
    either = "|".join(map(re.escape, names))
    keyword = rf"\b(?:{'|'.join(listed('defining_line'))})\s+(?:\([^)]*\)\s*)?({either})\b"
    return re.compile(keyword), re.compile(rf"\s*(?:[\w<>*&\[\], ]+[ *&])?({either})\s*(?:[=:(]|$)")


def may_define(content: bytes, name: str) -> bool:
    """Return True if a line of a file seems to define a name."""
    keyword, other = _defining_line([name])
    lines = (line[:500] for line in content.decode("utf-8", "replace").splitlines() if name in line)
    return any(keyword.search(line) or other.match(line) for line in lines)


def head_at(work: WorkTree, seconds: float) -> tuple[str, str | None] | None:
    """Return the commit and the branch that were HEAD at a time: by the reflog, else by dates."""
    commit = branch = None
    for line in _lines(os.path.join(work.git_dir, "logs", "HEAD")):
        words = line.partition("\t")
        parts = words[0].split()
        if len(parts) < 4 or not parts[-2].isdigit() or int(parts[-2]) > seconds:
            break
        commit = parts[1]
        if words[2].startswith("checkout: moving from "):
            branch = words[2].rpartition(" to ")[2].strip()
    if commit is None:
        out = git(work.root, "rev-list", "-1", f"--before={int(seconds)}", "HEAD")
        commit = (out or b"").decode().strip() or None
    return None if commit is None else (commit, branch)


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(20_000_000).splitlines()
    except OSError:
        return []


def is_merged(work: WorkTree, commit: str) -> bool | None:
    """Return True if a commit is an ancestor of HEAD; None if it is unknown."""
    for answer, code in ((True, 0), (False, 1)):
        if git(work.root, "merge-base", "--is-ancestor", commit, "HEAD", codes=(code,)) is not None:
            return answer
    return None


def branches_with(work: WorkTree, commit: str) -> list[str]:
    """Return the local branches that have a commit."""
    out = git(work.root, "for-each-ref", f"--contains={commit}", "--format=%(refname:lstrip=2)", "refs/heads")
    return (out or b"").decode("utf-8", "replace").split()


def changes_since(work: WorkTree, commit: str, path: str) -> list[int] | None:
    """Return the times of the commits since `commit` that changed a file, newest first, at most 100."""
    most = ("-n", str(MOST_COMMITS), "--format=%ct")
    out = git(work.root, "log", *most, f"{commit}..HEAD", "--", f":(literal){path}")
    return None if out is None else [int(line) for line in out.split()]


def fate_since(work: WorkTree, commit: str, path: str) -> str | None:
    """Return the path to which a missing file was renamed since a commit, "" if it was removed.

    None if it is only not checked out. A file that was not committed yet at that time is looked for before
    the commit that removed it.
    """
    there = git(work.root, "ls-files", "-t", "-z", "--", f":(literal){path}")
    if there or there is None:
        return "" if there and not there.startswith(b"S") else None
    new = _removed_since(work, commit).get(path)
    if new is not None:
        return new
    removal = ("-n", "1", "--format=%H", "--diff-filter=D", "--no-renames", "--", f":(literal){path}")
    remover = (git(work.root, "log", *removal) or b"").decode().strip()
    return _removed_since(work, f"{remover}^").get(path, "") if remover else ""


def _removed_since(work: WorkTree, commit: str) -> dict[str, str]:
    """Return the files that a commit has and the index has not, with the new path of each, or "".

    The working tree itself is not compared, because git would run the repository's filters for that.
    """
    kind = ("--cached", "--name-status", "-z", "-M", "--diff-filter=DR", "--no-ext-diff", "--no-textconv")
    parts = iter(os.fsdecode(git(work.root, "diff", *kind, commit, "--") or b"").split("\0"))
    return {next(parts): next(parts) if status.startswith("R") else "" for status in parts if status}


class Commit(NamedTuple):
    """One commit: its id, its time in seconds since 1970, its message, and the files that it changed."""

    id: str
    at: int
    message: str = ""
    files: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        """The beginning of its id, as it is shown."""
        return self.id[:SHORT]

    @property
    def subject(self) -> str:
        """The first line of its message."""
        return self.message.partition("\n")[0].strip()


def commits_of(work: WorkTree, path: str, lines: tuple[int, int] | None, most: int) -> list[Commit]:
    """Return the commits that changed a file, or lines of it, newest first, without merges and robots.

    Those of a file name it, as it may have had another name.
    """
    form = ("-s", f"-L{lines[0]},{lines[1]}:{path}") if lines else ("--follow", "--name-only", "--", path)
    return (_log(work, SECONDS, "%B", "-n", str(2 * most), *form) or [])[:most]


def history(work: WorkTree, most: int) -> list[Commit] | None:
    """Return the ids and times of the newest commits of HEAD and all local branches, newest first.

    Merges and robots are left out. None if git does not answer.
    """
    return _log(work, LONG_SECONDS, "", "-n", str(most), "--branches", "HEAD", "--")


def read_commits(work: WorkTree, ids: Iterable[str]) -> list[Commit] | None:
    """Return these commits with their messages and files; where a shallow clone begins, without files."""
    form = ("--no-walk=unsorted", "--stdin", "--name-only", "--root", "--no-renames")
    given = "".join(f"{each}\n" for each in ids).encode()
    begins = _lines(os.path.join(work.common, "shallow"))
    made = _log(work, LONG_SECONDS, "%B", *form, given=given)
    return made and [each._replace(files=()) if each.id in begins else each for each in made]


def _log(
    work: WorkTree, seconds: float, message: str, *arguments: str, given: bytes | None = None
) -> list[Commit] | None:
    """Return commits by one `git log`, without merges and robots; `message` is its format for that."""
    form = ("-z", "--no-merges", "--no-ext-diff", "--no-textconv", "--encoding=UTF-8")
    # a NUL before each commit, and a dot before a message, which may be empty
    wanted = f"--format=%x00%H%x00%ct%x00%an <%ae>%x00.{message}"
    out = git(work.root, "log", *form, wanted, *arguments, given=given, seconds=seconds)
    rows = (row.split(b"\0") for row in (out or b"").strip(b"\0").split(b"\0\0") if row)
    return None if out is None else [_commit(*row) for row in rows if not _ROBOT.search(row[2])]


def _commit(name: bytes, at: bytes, _: bytes, message: bytes, *files: bytes) -> Commit:
    names = tuple(file.removeprefix(b"\n").decode("utf-8", "backslashreplace") for file in files)
    text = message[1:].decode("utf-8", "replace").strip()
    return Commit(name.decode(), min(int(at), LATEST), text, names)
