"""Finds the working trees of a scope."""

import os
from collections.abc import Iterable, Iterator

from scrubjay.home.paths import Home
from scrubjay.home.repositories import WorkTree, work_tree
from scrubjay.home.scopes import list_scopes


class Trees:
    """The working trees of a home's scopes."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def of(self, scope: str, files: Iterable[str] = ()) -> WorkTree | None:
        """Return the tree that contains one of the files, or else the first; None without a repository."""
        paths = next((each["paths"] for each in list_scopes(self._home) if each["scope"] == scope), ())
        user_home = os.path.expanduser("~")
        for folder in dict.fromkeys(os.path.dirname(file) for file in files if os.path.isabs(file)):
            if (tree := work_tree(folder, user_home)) and os.path.normcase(tree.common) in paths:
                return tree
        roots = (root for path in paths for root in _roots(path))
        trees = (tree for root in roots if (tree := work_tree(root, user_home)) and tree.root == root)
        return next(trees, None)


def _roots(common: str) -> Iterator[str]:
    """Yield the folders of a repository's working trees, the main one first; `common` is its git folder."""
    yield os.path.dirname(common)
    links = os.path.join(common, "worktrees")
    for name in sorted(os.listdir(links)) if os.path.isdir(links) else ():
        try:
            with open(os.path.join(links, name, "gitdir"), encoding="utf-8") as file:
                yield os.path.realpath(os.path.dirname(file.read(4_000).strip()))
        except (OSError, UnicodeDecodeError):
            continue
