"""The keys of the HTTP interface: each is shown once, and only its digest is stored in `<home>/tokens.json`.

    {"v": 1, "tokens": [{"name": "laptop", "digest": sha256 in hex, "tag": null, "read_only": false,
                         "created_at": "2026-03-05T12:00:00Z"}]}

The web framework is not imported here, because the command line uses this module without it.
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
from scrubjay.home.files import parse_json
from scrubjay.home.kept import read_kept, write_kept
from scrubjay.home.paths import Home
from scrubjay.home.scopes import is_scope
from scrubjay.http_api.permissions import Permissions
from scrubjay.wire.lock import FileLock

# The fewest characters of a key chosen by the user, because supermemory's plug-in for Claude Code
# requires them.
SHORTEST = 20
_KEY = re.compile(r"[!-~]+")  # printable ASCII without blanks: headers carry nothing else intact
_LOCK_SECONDS = 5.0


@dataclass(frozen=True)
class Token:
    """What is stored of a key: its name, digest and permissions."""

    name: str
    digest: str
    tag: str | None = None
    read_only: bool = False
    created_at: str = ""

    @property
    def permissions(self) -> Permissions:
        """Return what the bearer of the key may do."""
        return Permissions(tag=self.tag, read_only=self.read_only)


def digest(key: str) -> str:
    """Return the SHA-256 of a key; a key made here has 256 random bits, so it needs no slow hash."""
    return hashlib.sha256(key.encode()).hexdigest()


def match(key: str, tokens: Iterable[Token]) -> Token | None:
    """Return the token of this key; the time that it takes does not show how much of a digest is right."""
    key_digest = digest(key)
    matching = [token for token in tokens if hmac.compare_digest(key_digest, token.digest)]
    return matching[0] if matching else None


def from_key(key: str, name: str) -> Token:
    """Return a token with full access for a key that the user chose.

    Raises InputError for a key that is too short, or has characters that a header cannot carry.
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
    """Create a token and its key (`sm_` and 43 random characters), which cannot be shown again.

    Raises InputError for a malformed name or tag and for a name that is taken, HomeError if the file cannot
    be written.
    """
    if name is not None and not is_scope(name):
        raise InputError(
            f"--name {name[:80]!r} must be 1 to 100 letters (A to Z), digits or . _ : -; choose another."
        )
    Permissions().scope_of(tag, "--tag")  # refuses a malformed tag
    key = f"sm_{secrets.token_urlsafe(32)}"
    with _lock(home):
        tokens = load(home)
        names = {token.name for token in tokens}
        if name in names:
            advice = f"Choose another name, or `scrubjay token remove {name}` first."
            raise InputError(f"A token is called {name!r} already. {advice}")
        stamp = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        token = Token(name or _free_name(names, tag or "token"), digest(key), tag, read_only, stamp)
        _save(home, [*tokens, token])
    return token, key


def remove(home: Home, name: str) -> None:
    """Remove a token: every later request with its key is refused.

    Raises NotFound for an unknown name, HomeError if the file cannot be written.
    """
    with _lock(home):
        tokens = load(home)
        remaining = [token for token in tokens if token.name != name]
        if len(remaining) == len(tokens):
            raise NotFound(f"No token is called {name[:80]!r}. `scrubjay token list` names them.")
        _save(home, remaining)


def load(home: Home) -> tuple[Token, ...]:
    """Return the tokens of a home; raises HomeError if the file cannot be read.

    Removing the file does not open the server: its copy still applies.
    """
    try:
        entries = parse_json(read_kept(home.tokens))["tokens"]
        if not isinstance(entries, list):
            raise TypeError("tokens are a list")
        return tuple(map(_token, entries))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, TypeError) as error:
        advice = "Repair it, or remove it: then its copy is in force."
        raise HomeError(f"{home.tokens} cannot be read, so no key can be checked. {advice}") from error


def _token(entry: dict[str, Any]) -> Token:
    token = Token(**{"tag": entry["tag"], **entry})  # KeyError without `tag`: the token would reach all tags
    fields = (token.name, token.digest, token.tag or "", token.created_at)
    if not all(isinstance(field, str) for field in fields) or not token.digest.isascii():
        raise TypeError("a token is made of texts")
    return token


class Tokens:
    """The tokens that apply now: those of the home, and one from the command line."""

    def __init__(self, home: Home, extra: Sequence[Token] = ()) -> None:
        self._home, self._extra = home, tuple(extra)
        self._file_version: tuple[int, ...] | None = None  # time, inode and size of the loaded file
        self._tokens: tuple[Token, ...] = ()

    def now(self) -> tuple[Token, ...]:
        """Return the tokens; the file is checked each time, in microseconds, so changes apply at once.

        Raises HomeError if the file cannot be read, or was removed, which must not open the server.
        """
        version: tuple[int, ...] = ()
        try:
            stat = os.stat(self._home.tokens)
            version = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
        except FileNotFoundError:
            pass
        except OSError:  # such as a link to itself, which `load` reports
            version = (0,)
        if self._file_version and not version:
            advice = "`scrubjay doctor --mend` puts it back."
            raise HomeError(f"{self._home.tokens} is gone, so no key can be checked. {advice}")
        if version != self._file_version:
            self._tokens, self._file_version = load(self._home), version
        return (*self._extra, *self._tokens)


def _free_name(names: set[str], stem: str) -> str:
    candidates = (stem, *(f"{stem[:90]}-{number}" for number in range(2, len(names) + 3)))
    return next(name for name in candidates if name not in names)


def _lock(home: Home) -> FileLock:
    lock = FileLock(home.tokens_lock)
    if not lock.acquire(_LOCK_SECONDS):
        raise EngineError(f"Another `scrubjay token` changes {home.tokens}. Try again when it has ended.")
    return lock


def _save(home: Home, tokens: Sequence[Token]) -> None:
    text = json.dumps({"v": 1, "tokens": [asdict(token) for token in tokens]}, indent=1)
    try:
        write_kept(home, home.tokens, text.encode())
    except OSError as error:
        why = error.strerror or error
        raise HomeError(
            f"{home.tokens} cannot be written: {why}. Make room, or look at its rights."
        ) from error
