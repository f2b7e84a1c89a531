"""What a caller may do over HTTP, and which scopes the tags of its request stand for."""

from collections.abc import Iterable
from dataclasses import dataclass

from scrubjay.errors import InputError
from scrubjay.home.scopes import EVERY_SCOPE, USER_SCOPE, is_scope

DEFAULT_TAG = "sm_project_default"  # for writes without a tag; supermemory's own tools use it too
RESERVED = frozenset({USER_SCOPE, EVERY_SCOPE})
READ_ONLY = "This token may only read. Write with another one."


class Forbidden(InputError):
    """The token does not reach this tag, or may not write."""


@dataclass(frozen=True)
class Permissions:
    """What one caller may do; `tag` is the only tag that the caller reaches, or None for all tags."""

    tag: str | None = None
    read_only: bool = False

    def write_scope(self, tag: str | None) -> str:
        """Return the scope for a write with this tag.

        Raises Forbidden for a read-only token, and the errors of `scope_of`.
        """
        if self.read_only:
            raise Forbidden(READ_ONLY)
        return self.scope_of(tag) or DEFAULT_TAG

    def check_writes_for_all(self) -> None:
        """Raise Forbidden unless this caller may change what applies to every tag."""
        self.write_scope(None)
        if self.tag is not None:
            raise Forbidden("This token reaches one tag, so it may not change what applies to all of them.")

    def read_scopes(self, tags: str | Iterable[str] | None, scopes: Iterable[str]) -> tuple[str, ...]:
        """Return the scopes that a read covers; raises the errors of `scope_of`.

        Without tags these are the token's scope or, if it has no scope, all of `scopes` except `user`.
        """
        names = [tags] if isinstance(tags, str) else list(tags or ())
        if names:
            return tuple(dict.fromkeys(scope for name in names if (scope := self.scope_of(name))))
        return (self.tag,) if self.tag is not None else tuple(sorted(set(scopes) - RESERVED))

    def reaches(self, scope: str) -> bool:
        """Return True if the caller may see records of this scope; other records look like unknown ids."""
        return scope not in RESERVED and self.tag in (None, scope)

    def scope_of(self, tag: str | None, field: str = "containerTag") -> str | None:
        """Return the scope that a tag names; without a tag, return the token's scope, which may be None.

        `field` is the name that the client knows the tag by.

        Raises:
            InputError: the tag is not a valid name of a scope.
            Forbidden: the token does not reach the tag.
        """
        if tag is None:
            return self.tag
        if tag in RESERVED:
            raise InputError(f"{field} = {tag!r} is reserved and not open over HTTP. Name another tag.")
        if not is_scope(tag):
            raise InputError(
                f"{field} = {tag[:80]!r} must be 1 to 100 letters (A to Z), digits or . _ : -; "
                "name another tag."
            )
        if self.tag not in (None, tag):
            raise Forbidden(f"This token reaches only the tag {self.tag!r}, and not {tag!r}.")
        return tag
