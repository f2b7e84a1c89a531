"""Texts with secrets, and harmless look-alikes, filled with values from a seed.

`secret_texts/known.txt` and `known_harmless.txt` are what the rules of redaction are written from. The other two
are held out: run them after a change, but do not look at which of their texts fail.

A text begins after each line of `%%`. What is in «» is a secret, and `{hex:32}` becomes 32 hexadecimal digits.
Values are made at run time, so that no scanner mistakes one for a real secret.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
import uuid
from dataclasses import dataclass
from pathlib import Path

_ALPHABETS = {
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "b62": string.ascii_letters + string.digits,
    "b64": string.ascii_letters + string.digits + "+/",
    "b64u": string.ascii_letters + string.digits + "-_",
    "low": string.ascii_lowercase + string.digits,
    "up": string.ascii_uppercase + string.digits,
    "b32": string.ascii_uppercase + "234567",
    "dig": string.digits,
    "abc": string.ascii_lowercase,
    "sym": string.ascii_letters + string.digits + "!#%*+-_^~",
}
_WORDS = (
    "harbour kestrel violet anchor maple thunder copper lantern meadow orbit pebble quartz raven saddle "
    "timber umbra velvet walnut yonder zephyr bramble cobalt drizzle ember falcon granite hollow indigo"
).split()
_SEED_WORDS = (  # of the list of BIP-39
    "abandon ability absorb abstract acid across actor adapt agent album alley almost amateur anchor antique "
    "apart arena artist aspect atom autumn awful bacon balance banana basket beach become below bench bicycle "
    "blanket blossom bracket breeze bronze bubble cabin cactus canyon carbon castle ceiling cherry circle"
).split()
_SLOT = re.compile(
    r"\{(hex|HEX|b62|b64u|b64|low|up|b32|dig|abc|sym|uuid|pw|pass|jwt|pem|word|bip|own)(?::(\d+))?\}"
)
_TEXTS = Path(__file__).parents[1] / "secret_texts"
_SECRET = re.compile(r"«(.*?)»", re.DOTALL)


@dataclass(frozen=True)
class Sample:
    """A text with the secrets in it; a harmless one has none."""

    text: str
    secrets: tuple[str, ...]

    def shows(self, redacted: str) -> bool:
        """Return True if `redacted` has a secret, or eight characters of one longer than twelve."""
        lines = [line.strip() for secret in self.secrets for line in secret.splitlines()]
        sizes = [8 if len(line) > 12 else min(6, len(line)) for line in lines]
        return any(
            line[at : at + size] in redacted
            for line, size in zip(lines, sizes, strict=True)
            for at in range(len(line) - size + 1)
        )


def corpus(name: str, seed: int) -> list[Sample]:
    """Read the texts of `<name>.txt` and fill them."""
    text = "\n" + (_TEXTS / f"{name}.txt").read_text(encoding="utf-8")
    # Words that other tests and scanners look for are split in the files.
    text = text.replace("PRIVATE{}KEY", "PRIVATE KEY").replace("{-}", "")
    chance = random.Random(seed)
    made = []
    for part in text.split("\n%%")[1:]:
        filled = _SLOT.sub(lambda match: _value(match, chance), part.partition("\n")[2].rstrip("\n"))
        made.append(Sample(re.sub("[«»]", "", filled), tuple(_SECRET.findall(filled))))
    return made


def _value(match: re.Match[str], chance: random.Random) -> str:
    kind, size = match[1], int(match[2] or 0)
    if kind in _ALPHABETS:
        return "".join(chance.choice(_ALPHABETS[kind]) for _ in range(size or 32))
    if kind == "uuid":
        return str(uuid.UUID(int=chance.getrandbits(128), version=4))
    if kind == "word":
        return chance.choice(_WORDS)
    if kind == "bip":
        return " ".join(chance.choice(_SEED_WORDS) for _ in range(size or 12))
    if kind == "pw":  # as a person invents them
        word = chance.choice(_WORDS)
        number, mark = chance.randrange(10, 9999), chance.choice("!#$%*?")
        return chance.choice(
            [
                f"{word.title()}{number}{mark}",
                f"{word}{mark}{number}",
                f"{word[:3].upper()}{word[3:]}{mark}{number}",
            ]
        )
    if kind == "own":  # as other people invent them
        return _own(chance)
    if kind == "pass":  # as a password manager generates them
        return "".join(chance.choice(_ALPHABETS["sym"]) for _ in range(size or 18))
    if kind == "jwt":
        body = [{"alg": "HS256", "typ": "JWT"}, {"sub": str(chance.randrange(10**9)), "iat": 1760000000}]
        parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in body]
        return ".".join([*parts, "".join(chance.choice(_ALPHABETS["b64u"]) for _ in range(43))])
    lines = ["".join(chance.choice(_ALPHABETS["b64"]) for _ in range(64)) for _ in range(size or 6)]
    return "\n".join(lines)


def _own(chance: random.Random) -> str:
    first, second = (chance.choice(_WORDS).title() for _ in range(2))
    year, number = chance.randrange(1970, 2027), chance.randrange(1, 999)
    swapped = first.translate(str.maketrans("aeiost", "@31057"))
    mark = chance.choice("!?#$%&*@")
    return chance.choice(
        [
            f"{first}{year}{mark}",
            f"{swapped}{number}{mark}",
            f"{first}-{second}-{number}",
            f"{first}{second}{number}",
            f"{mark}{first}{mark}{number}",
            f"{number}{first}{mark}{second}",
            f"{first.lower()}.{second.lower()}{mark}{year}",
            f"{swapped}_{second}{mark}",
            f"my{first}{second}{year}",
            "".join(
                chance.choice(string.ascii_letters + string.digits) for _ in range(chance.randrange(9, 15))
            ),
        ]
    )
