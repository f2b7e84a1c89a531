"""Finds the working trees of a scope."""

import os
from collections.abc import Iterable

from scrubjay.home.paths import Home
from scrubjay.home.repositories import WorkTree, work_tree
from scrubjay.home.scopes import list_scopes


class Trees:
    """The working trees of a home's scopes."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def of(self, scope: str, files: Iterable[str] = (), folder: str | None = None) -> WorkTree | None:
        """Return the working tree that `folder` or one of the files is in, or the first; None without git."""
        paths = next((each["paths"] for each in list_scopes(self._home) if each["scope"] == scope), ())
        trees = [tree for path in paths for root in _roots(path) if (tree := _tree(root))]
        places = [os.path.realpath(each) for each in (folder, *files) if each and os.path.isabs(each)]
        inside = (tree for place in places for tree in trees if f"{place}/".startswith(f"{tree.root}/"))
        return next(inside, trees[0] if trees else None)


def _tree(root: str) -> WorkTree | None:
    tree = work_tree(root, os.path.expanduser("~"))
    return tree if tree is not None and tree.root == os.path.realpath(root) else None


def _roots(common: str) -> list[str]:
    """Return the folders of the working trees of a repository by its common git folder, main one first."""
    linked = os.path.join(common, "worktrees")
    roots = [os.path.dirname(common)]
    for name in sorted(os.listdir(linked)) if os.path.isdir(linked) else ():
        try:
            with open(os.path.join(linked, name, "gitdir"), encoding="utf-8") as file:
                roots.append(os.path.dirname(file.read(4_000).strip()))
        except (OSError, UnicodeDecodeError):
            continue
    return roots
