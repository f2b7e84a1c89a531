"""The keys that open the HTTP face: made once, shown once, kept as digests in `<home>/tokens.json`.

    {"v": 1, "tokens": [{"name": "laptop", "digest": sha256 in hex, "tag": null, "read_only": false,
                         "created_at": "2026-03-05T12:00:00Z"}]}

The web framework is not imported here: the command line makes keys while the engine runs.
"""

import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from scrubjay.errors import EngineError, HomeError, InputError, NotFound
from scrubjay.home.files import parsed
from scrubjay.home.kept import read_kept, write_copy
from scrubjay.home.paths import Home
from scrubjay.home.scopes import is_scope
from scrubjay.home.spool import durable_write
from scrubjay.http_api.permissions import Permissions
from scrubjay.wire.lock import FileLock

# characters of a key that the user chose; supermemory's plug-in for Claude Code requires as many
SHORTEST = 20
_KEY = re.compile(r"[!-~]+")  # printable ASCII without blanks, which is all that a header carries unharmed
_LOCK_SECONDS = 5.0


@dataclass(frozen=True)
class Token:
    """A key without the key itself: its name, digest and permissions."""

    name: str
    digest: str
    tag: str | None = None
    read_only: bool = False
    created_at: str = ""

    @property
    def permissions(self) -> Permissions:
        """What its bearer may do."""
        return Permissions(tag=self.tag, read_only=self.read_only)


def digest(key: str) -> str:
    """Return a plain digest, which is enough: a key made here has 256 random bits and cannot be guessed."""
    return hashlib.sha256(key.encode()).hexdigest()


def match(key: str, tokens: Iterable[Token]) -> Token | None:
    """Return the token of this key, in a time that does not depend on how much of a digest is right."""
    own, match = digest(key), None
    for token in tokens:
        if hmac.compare_digest(own, token.digest):
            match = token
    return match


def given(key: str, name: str) -> Token:
    """Return the token of a key that the user chose, which opens everything.

    Raises:
        InputError: it is too short, or no header could carry it.
    """
    if len(key) < SHORTEST or not _KEY.fullmatch(key):
        raise InputError(
            f"The key of {name} has {len(key)} characters; it needs at least {SHORTEST}, without blanks and "
            "in plain ASCII. `scrubjay token add` makes a good one."
        )
    return Token(name, digest(key))


def add(
    home: Home, now: datetime, *, name: str | None = None, tag: str | None = None, read_only: bool = False
) -> tuple[Token, str]:
    """Make a token and its key, which cannot be shown again: `sm_` and 43 random characters.

    Raises:
        InputError: the name is taken, or the name or the tag is malformed.
        HomeError: the file cannot be written.
    """
    if name is not None and not is_scope(name):
        raise InputError(
            f"--name {name[:80]!r} must be 1 to 100 letters (A to Z), digits or . _ : -; choose another."
        )
    Permissions().writes_to(tag)  # refuses a malformed tag
    key = f"sm_{secrets.token_urlsafe(32)}"
    with _changing(home):
        tokens = load(home)
        taken = {token.name for token in tokens}
        if name in taken:
            advice = f"Choose another name, or `scrubjay token remove {name}` first."
            raise InputError(f"A token is called {name!r} already. {advice}")
        stamp = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        token = Token(name or _free(taken, tag or "token"), digest(key), tag, read_only, stamp)
        _save(home, [*tokens, token])
    return token, key


def remove(home: Home, name: str) -> None:
    """Remove a token: its key opens nothing from the next request on.

    Raises:
        NotFound: there is no such token.
        HomeError: the file cannot be written.
    """
    with _changing(home):
        tokens = load(home)
        rest = [token for token in tokens if token.name != name]
        if len(rest) == len(tokens):
            raise NotFound(f"No token is called {name[:80]!r}. `scrubjay token list` names them.")
        _save(home, rest)


def load(home: Home) -> tuple[Token, ...]:
    """Return the tokens of a home. A file that is removed opens nothing: its copy stays in force.

    Raises:
        HomeError: the file cannot be read, so that no key can be checked.
    """
    try:
        entries = parsed(read_kept(home.tokens))["tokens"]
        if not isinstance(entries, list):
            raise TypeError("tokens are a list")
        return tuple(map(_token, entries))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, TypeError) as error:
        advice = "Repair it, or remove it: then its copy is in force."
        raise HomeError(f"{home.tokens} cannot be read, so no key can be checked. {advice}") from error


def _token(entry: dict[str, Any]) -> Token:
    token = Token(**{"tag": entry["tag"], **entry})  # without a tag it would open all of them
    texts = (token.name, token.digest, token.tag or "", token.created_at)
    if not all(isinstance(text, str) for text in texts) or not token.digest.isascii():
        raise TypeError("a token is made of texts")
    return token


class Tokens:
    """The tokens in force: the home's current ones, and one from the command line."""

    def __init__(self, home: Home, extra: Sequence[Token] = ()) -> None:
        self._home, self._extra = home, tuple(extra)
        self._seen: tuple[int, ...] | None = None
        self._tokens: tuple[Token, ...] = ()

    def now(self) -> tuple[Token, ...]:
        """Return them; checking the file's date costs microseconds, so a removed token is refused at once.

        Raises:
            HomeError: the file cannot be read, or was removed, which must not open the server.
        """
        seen: tuple[int, ...] = ()
        try:
            facts = os.stat(self._home.tokens)
            seen = (facts.st_mtime_ns, facts.st_ino, facts.st_size)
        except FileNotFoundError:
            pass
        except OSError:  # such as a link to itself, which `load` reports
            seen = (0,)
        if self._seen and not seen:
            advice = "`scrubjay doctor --mend` puts it back."
            raise HomeError(f"{self._home.tokens} is gone, so no key can be checked. {advice}")
        if seen != self._seen:
            self._tokens, self._seen = load(self._home), seen
        return (*self._extra, *self._tokens)


def _free(taken: set[str], stem: str) -> str:
    names = (stem, *(f"{stem[:90]}-{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


def _changing(home: Home) -> FileLock:
    lock = FileLock(home.tokens_lock)
    if not lock.acquire(_LOCK_SECONDS):
        raise EngineError(f"Another `scrubjay token` changes {home.tokens}. Try again when it has ended.")
    return lock


def _save(home: Home, tokens: Sequence[Token]) -> None:
    text = json.dumps({"v": 1, "tokens": [asdict(token) for token in tokens]}, indent=1)
    try:
        write_copy(home.tokens, text.encode())
        durable_write(home, home.tokens, text.encode())
    except OSError as error:
        why = error.strerror or error
        raise HomeError(
            f"{home.tokens} cannot be written: {why}. Make room, or look at its rights."
        ) from error
