"""Finds the repository of a folder by reading git's files, or treats a folder without git as a repository.

It never runs git and writes nothing. Hooks use it: standard library only and Python 3.9 syntax.
"""

from __future__ import annotations

import os
from collections import namedtuple

from scrubjay.home.files import read_regular

Repository = namedtuple("Repository", "path origin birth is_git")
"""The path of the common git folder, the normalised URL of the origin, and the start of the reflog.

A folder outside git has only its path; URL and reflog are None if unknown.
"""

WorkTree = namedtuple("WorkTree", "root git_dir common")
"""A working tree: its folder, its git folder, and the git folder that all trees of the repository share."""

_DEFAULT_PORTS = {"ssh": "22", "git+ssh": "22", "ssh+git": "22", "https": "443", "http": "80", "git": "9418"}


def repository(folder: str, user_home: str) -> Repository | None:
    """Return the repository of a folder, or the folder itself as one; None for `/` and `user_home`.

    A submodule is a separate repository. A repository in `user_home` itself (dotfiles in git) does not count.
    """
    start, user_home = os.path.realpath(folder), os.path.realpath(user_home)
    tree = work_tree(start, user_home)
    if tree is not None:
        url = _origin_url(_text(os.path.join(tree.common, "config")))
        origin = normal_url(url, tree.root) if url else None
        return Repository(os.path.normcase(tree.common), origin, birth_of(tree.common), True)
    if start in (user_home, os.path.dirname(start)):
        return None
    return Repository(os.path.normcase(start), None, None, False)


def work_tree(folder: str, user_home: str) -> WorkTree | None:
    """Return the working tree that contains a folder, unless its root is `user_home`."""
    root, user_home = os.path.realpath(folder), os.path.realpath(user_home)
    while root != user_home and root != os.path.dirname(root):
        git_dir = _git_dir(os.path.join(root, ".git"))
        if git_dir:
            common = _text(os.path.join(git_dir, "commondir")).strip()
            return WorkTree(
                root, git_dir, os.path.realpath(os.path.join(git_dir, common)) if common else git_dir
            )
        root = os.path.dirname(root)
    return None


def head_of(tree: WorkTree) -> tuple[str, str | None] | None:
    """Return the commit of a working tree's HEAD and its branch, if any; None before the first commit."""
    head = _text(os.path.join(tree.git_dir, "HEAD"), 1000).strip()
    if not head.startswith("ref: "):
        return (head, None) if head else None
    name = head[5:]
    commit = _text(os.path.join(tree.common, *name.split("/")), 1000).strip()
    if not commit:
        packed = _text(os.path.join(tree.common, "packed-refs"), 10_000_000).splitlines()
        commit = next((line[: -len(name)].strip() for line in packed if line.endswith(f" {name}")), "")
    return (commit, name.replace("refs/heads/", "", 1)) if commit else None


def birth_of(path: str) -> str | None:
    """Return the start of the reflog of the common git folder at `path`; None if there is no reflog.

    It is `<old commit> <new commit> <seconds>`, from the first line without its author and message.
    """
    parts = _text(os.path.join(path, "logs", "HEAD"), 1000).partition("\n")[0].partition("\t")[0].split()
    return f"{parts[0]} {parts[1]} {parts[-2]}" if len(parts) >= 4 else None


def normal_url(url: str, base: str) -> str:
    """Reduce a remote's URL to host and path, without credentials, default port and `.git`.

    >>> normal_url("git@GitHub.com:corvid/jay.git", ""), normal_url("https://me:pw@github.com/corvid/jay", "")
    ('github.com/corvid/jay', 'github.com/corvid/jay')
    """
    scheme, separator, rest = url.strip().partition("://")
    before_colon, colon, after_colon = url.partition(":")
    if separator and scheme.lower() != "file":
        authority, _, path = rest.partition("/")
        host, _, port = authority.rpartition("@")[2].lower().partition(":")
        if port and port != _DEFAULT_PORTS.get(scheme.lower()):
            host += ":" + port
    # A single letter before the colon is a Windows drive.
    elif not separator and colon and "/" not in before_colon and len(before_colon) > 1:
        host, path = before_colon.rpartition("@")[2].lower(), after_colon
    else:
        local = os.path.expanduser(rest if separator else url.strip())
        host, path = "", os.path.normpath(os.path.join(base, local))
    path = path.rstrip("/")
    path = path[:-4] if path.endswith(".git") else path
    return (host + "/" + path.strip("/")) if host else path.rstrip("/")


def _git_dir(dot_git: str) -> str | None:
    """Return the git folder: `.git` itself, or if that is a file, the folder that it names; else None."""
    if os.path.isfile(os.path.join(dot_git, "HEAD")):
        return os.path.realpath(dot_git)
    link = _text(dot_git)
    if not link.startswith("gitdir:"):
        return None
    return os.path.realpath(os.path.join(os.path.dirname(dot_git), link[7:].strip()))


def _origin_url(config: str) -> str | None:
    """Return the first URL of the remote `origin` in a git configuration, in the form that git writes."""
    _, _, after_heading = f"\n{config}".partition('\n[remote "origin"]\n')
    pairs = (line.partition("=") for line in after_heading.partition("\n[")[0].splitlines())
    urls = (value.strip().strip('"') for key, _, value in pairs if key.strip() == "url")
    return next(urls, "").replace("\\\\", "\\") or None


def _text(path: str, limit: int = 1_000_000) -> str:
    try:
        content = read_regular(path, limit, own=False)  # a repository may be shared
        return content.decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError:
        return ""
