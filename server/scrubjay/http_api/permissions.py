"""What a caller may do over HTTP, and which scopes the tags of its request mean."""

from collections.abc import Iterable
from dataclasses import dataclass

from scrubjay.errors import InputError
from scrubjay.home.scopes import EVERY_SCOPE, USER_SCOPE, is_scope

DEFAULT_TAG = "sm_project_default"  # where a write goes that names no tag; what supermemory's own tools use
RESERVED = frozenset({USER_SCOPE, EVERY_SCOPE})
READ_ONLY = "This token may only read. Write with another one."


class Forbidden(InputError):
    """The token does not reach this tag, or may not write."""


@dataclass(frozen=True)
class Permissions:
    """What one caller may do; `tag` is the only tag in reach, None for all."""

    tag: str | None = None
    read_only: bool = False

    def writes_to(self, tag: str | None) -> str:
        """Return the scope that a write with this tag goes to.

        Raises:
            InputError: a tag that no scope may be called.
            Forbidden: a tag that the token does not reach, or a token that may only read.
        """
        if self.read_only:
            raise Forbidden(READ_ONLY)
        return self.own(tag) or DEFAULT_TAG

    def writes_for_all(self) -> None:
        """Raise unless this caller may change what applies to every tag.

        Raises:
            Forbidden: a token that reaches one tag, or may only read.
        """
        self.writes_to(None)
        if self.tag is not None:
            raise Forbidden("This token reaches one tag, so it may not change what applies to all of them.")

    def reads(self, tags: str | Iterable[str] | None, known: Iterable[str]) -> tuple[str, ...]:
        """Return the scopes that a read sees: those of its tags, else all of `known` but the user's own.

        Raises:
            InputError, Forbidden: as `writes_to`.
        """
        named = [tags] if isinstance(tags, str) else list(tags or ())
        if named:
            return tuple(dict.fromkeys(own for tag in named if (own := self.own(tag))))
        return (self.tag,) if self.tag is not None else tuple(sorted(set(known) - RESERVED))

    def reaches(self, scope: str) -> bool:
        """Return True if the caller sees records of this scope; other records look like unknown ids."""
        return scope not in RESERVED and self.tag in (None, scope)

    def own(self, tag: str | None) -> str | None:
        """Return the scope that a tag names; without a tag that of the token, None if it has none.

        Raises:
            InputError: a tag that no scope may be called.
            Forbidden: a tag that the token does not reach.
        """
        if tag is None:
            return self.tag
        if tag in RESERVED:
            raise InputError(f"containerTag = {tag!r} is reserved and not open over HTTP. Name another tag.")
        if not is_scope(tag):
            raise InputError(
                f"containerTag = {tag[:80]!r} must be 1 to 100 letters (A to Z), digits or . _ : -; "
                "name another tag."
            )
        if self.tag not in (None, tag):
            raise Forbidden(f"This token reaches only the tag {self.tag!r}, and not {tag!r}.")
        return tag
