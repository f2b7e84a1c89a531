"""Redaction: takes out of a text what must never be stored, secrets and what the user marked as private.

Every write passes through here, hooks' too: standard library only, Python 3.9 syntax. Three kinds of rules
are data. A token with an issuer is known by its prefix; prefixes are searched only in the text's long
words, of which prose has hardly any. A line of a known form, such as a command or a header, has literals
that any match must contain, and a pattern that is compiled only when one of them occurs. A name such as
`password` or `api_key` gives away the value beside it: the names are found in one pass, and what may follow
them is tried there. What no place gives away is judged as a word: by its shape, by the nearest name before
it, and by the column or the block that it stands in. A pattern never starts inside a run of its own
characters, or is bounded, so every rule is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, namedtuple
from itertools import accumulate

from scrubjay.redaction.patterns import pattern as _pattern

TYPE_CHECKING = False  # as in typing, which hooks do not wait for
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MAX_PASSES = 10  # taking out a secret can lay bare another; prose needs two passes, so this bounds malice

# Literals in lower case are searched in the folded text, others as they are. The group `secret`, else the
# whole match, is replaced if `is_genuine(match)`.
# Texts without `needs` are not searched for the literals, which costs 5 microseconds for each and 10 kB.
_Rule = namedtuple("_Rule", "kind literals pattern is_genuine needs")

_WINDOW, _BEYOND = 60_000, 10_000  # characters of a text that are looked at in one step, and after them
_WORD = r"(?<![A-Za-z0-9_])"  # not inside a word
_RUN = r"(?<![A-Za-z0-9_-])"  # not inside a run of base64url
_REFERENCE = (  # a value that names where the secret is kept
    r"\.\*|\[\^|[\"']\$|\\\(|[a-z]+(?:/[a-z]+)+#[a-z_]+\Z|\$[A-Za-z_]\w*(?:-?\Z|->|::|[.\[:/?\"'])|\$[{(]|%\w+%\Z"
    r"|[A-Za-z]:[\\/]|(?:~|\.{1,2})?/[\w.-]|@@?[A-Za-z][\w.]*(?:@@)?\Z"
    r"|#[A-Za-z][\w-]*\Z|#\{|!\w+\Z|__\w+__\Z|:\w+\Z|[A-Za-z_][\w.:>-]*\(.*\)\Z|%\(|\\[uUx]|\w+\[[\w-]*\]\.|"
    r"(?:base64:)?[A-Z]{2,}(?:_[A-Z]{2,})+\Z|(?:[\w.-]{1,60}/){1,9}[\w-]{1,60}\.[a-z]{2,10}\Z|"
    r"(?:vault|ssm|env|file|op):|arn:|ENC\[|[a-z][a-z-]*:\d+(?:\.\d+)+\Z|(?:[A-Z]{2,6}\d{0,3}-)"
    r"+[A-Z]{2,6}\d{0,3}\Z"
    r"|(?:os|env|process|self|this|cls|config|settings|secrets|request|req|ctx|args|opts|options|params"
    r"|data|user|form|props|state|app"
    r"|import|vars?|local|module|vault|aws|kwargs|context|session|response|res|body|payload|faker"
    r"|crypto)\??\.[A-Za-z_]"
    r"|#[0-9a-fA-F]{3,8}\Z|Test(?:_?[A-Z][a-z]+){2,}\d*(?:/\S+)?\Z|\?[a-z ]+\Z|(?:required|nullable|sometimes"
    r"|string|confirmed)\|"  # a colour, a test, a rule of validation
)
_PUBLIC_FORM = (  # what says itself that it is a version, a date, a digest, a public key, a name, an alphabet
    r"[a-z]{2,}(?:-[a-z]+)*-\d+(?:\.\d+)+\Z|[\^~<>=v]{0,2}(?:\d:)?\d{1,4}\.\d+[.+-][\w.+~-]*\Z|"
    r"\d{4}-\d\d-\d\d|(?:[0-9A-F]{16}|[0-9A-F]{40})\Z"
    r"|(?:(?:hmac-)?sha\d{1,3}|md5|h1)[:=-]|AAAA(?:[BC]3Nza|E2Vj|[GI][nk])|UGFzc3dvcmQ6|age1[a-z0-9]{40,}\Z|"
    r"(?:pk|phc|pub\w{0,5})[._-]|_[ZR][A-Z0-9]|(?:RW[A-Za-z0-9+/]{54}|Ag[A-C][A-Za-z0-9+/]{90,}={0,2})\Z"
    r"|B[A-Za-z0-9_-]{86}\Z|h[0-9a-f]{16}\Z"  # a point of a curve, a symbol of Rust
    r"|(?:Qm[A-Za-z0-9]{44}|baf[ky][a-z2-7]{50,60}|(?:AC|AP|CA|CL|CN|CR|FX|GB|MG|MM|NO|PN|QU|RE|SI|SM|TR|US|"
    r"VA|WK)[0-9a-f]{32})\Z|0x[0-9A-Fa-f]{1,16}U?L{0,2}\Z|(?i:.*abcdefgh)"
)
_NAME_OF_SECRET = (  # words, of which one is `password` or the like: the name of a secret, not the secret
    r"(?=[A-Za-z_.:/-]*\Z)(?=.*[a-z]{2}[A-Z]|.*[A-Za-z][_.:/-][A-Za-z]|my)[A-Za-z_.:/-]*"
    r"(?:(?:(?<![a-z])|(?<=my)|(?<=new))(?i:pass(?:word|wd|phrase|code)?|secret|token|key|auth|credential)"
    r"|Pass(?:word|phrase|code)|Secret|Token|Key|Auth|Credential)s?(?![a-z])"
    r"|[\w.]*(?:Password|Secret|Token|Key|Auth)s?(?:(?:[A-Z][a-z]*\d*){0,20}(?<!\d)|_[a-z0-9]+)\Z"
)
_NAME = r"[A-Za-z_.:-]+[0-9]{0,2}\Z"  # an identifier, perhaps with its version
_NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.:-"
_STAND_IN = (  # a word that stands where a secret would
    r"(?:none|null|nil|true|false|undefined|string|number|integer|boolean|object|bytes|value|default|password"
    r"|passwd|pass|(?:base(?:32|64)[_-]?)?secret|token|api[_-]?key|bearer|basic|user|username|required|"
    r"optional|example|placeholder"
    r"|change[_-]?(?:me|it)(?:[_-][a-z-]+)?|redacted|removed|hidden|missing|invalid|expired|unknown"
    r"|password[_-]here|passwort|mot[_-]de[_-]passe|(?:tu|su|votre|dein)_[^\W\d]+|replace[\w-]*|todo|tbd|dummy|fake|sample)[0-9]{0,3}\Z"
)
# What a manager makes up.
_SIGNS = r"(?=.*[a-z])(?=.*[A-Z])\w[^\s()<>]{0,60}(?:[!#$%^*+~&][^\s()<>]{0,60}\w|[!#$%^*&]\Z)"
_TITLED = (  # HarbourKestrel42, Falcon-Umbra-427, Berlin2019!
    r"(?!.*(?i:pass|token|secret|key|auth|test|user|error))(?:my)?[A-Z][a-z]{2,}(?:[-_.]?[A-Z][a-z]{2,})"
    r"{1,3}[-_.]?\d{1,4}[!?#$%&*@]?\Z"
    r"|(?:my)?[A-Z][a-z]{2,}[-_.]?\d{2,4}[!?#$%&*@]?\Z"
)
_KEBAB = r"[a-z]{2,}(?:[-_.][a-z]{2,})+(?:[-_.][a-z]?\d{1,4})?\Z"
_TERM = (  # a word with digits that stands in prose or code, and is no secret
    r"(?i)(?:id_|rsa\w{0,4}-|hmac-)?(?:sha|md|aes|rsa|pkcs|base|utf|iso|oauth|http|argon|pbkdf|bcrypt|ed|rs|"
    r"hs|es|tls|ipv?|v|x|p)-?\d+"
    r"(?:[-_a-z]|[-.]\d+)*\Z"
    r"|[0-9]+-?[a-z]{1,12}\Z|[a-z]+-[0-9.]+\Z|[0-9TE:.Z#+_-]+\Z|[a-z]+\(\d.*|[\w.-]+"
    r"(?:/[\w.-]+)+\.[a-z0-9]{1,4}\Z|(?-i:(?:[a-z][a-z0-9_-]*/)+[a-z0-9_-]+\Z)"  # 256-bit, page-2, a path
    r"|(?-i:[A-Z]{4,8}\d{4,8}\Z)|[\w.-]+:\d+(?:\.\d+)+\Z"  # an error, a version
)


_NUMBERED = r"[A-Za-z]{4,}(?:[-.][A-Za-z]{2,})*[-.]?\d{2}\Z"  # hunter42, which an identifier may be too


def _random(match: re.Match[str]) -> bool:
    """Whether the secret mixes letters and digits in a way that names do not."""
    return _mixed(match.group("secret"))


def _no_words(match: re.Match[str]) -> bool:
    """Whether the secret is none of the names that begin with the prefix of a token."""
    return _random(match) or _gibberish(match.group("secret"))


def _mixed(value: str) -> bool:
    digits = sum(character.isdigit() for character in value)
    return (2 <= digits < len(value) and not _pattern(_NAME).match(value)) or _jumbled(value)


def _opaque(value: str) -> bool:
    """Whether a value is a key in itself: a long run of hex, or of capitals, small letters and digits."""
    if not _pattern(r"[A-Za-z0-9_+/=.~%-]{20,}\Z").match(value) or _pattern(
        r"(?:[A-Z]?[a-z]{3,12}|[A-Z]{3,12})[-_.]"
    ).match(value):
        return False
    if _pattern(r"[0-9a-f]{32,}\Z|[0-9A-F]{32,}\Z").match(value):
        return True
    return _dense(value) and any(map(str.isupper, value)) and any(map(str.islower, value))


def _scattered(value: str, key: str, before: str) -> bool:
    """Whether letters and digits take turns, or 20 letters are of no word; after `key` alone, over 30."""
    if not _pattern(r"(?=.*[g-zG-Z])[A-Za-z0-9_=-]{20,}\Z").match(value):
        return False
    folded = value.translate({45: "", 61: "", 95: ""}).lower()
    turns = len(_pattern(r"[a-z]+|[0-9]+").findall(folded))
    return (_owned(key, before) or len(value) >= 30) and (turns >= 0.3 * len(folded) or _gibberish(value))


def _owned(key: str, before: str) -> bool:
    """Whether `key` says whose it is: `azure_key`, `azureKey`."""
    return bool(_pattern(r"[A-Za-z]{2}[ _.-]\Z").search(before)) or (
        key[:1].isupper() and before[-1:].islower()
    )


def _dense(value: str) -> bool:
    """Whether a value has digits as only random text does: two, or one within 20 characters of both cases."""
    several = any(map(str.isdigit, value)) and any(map(str.isupper, value)) and any(map(str.islower, value))
    words = r"(?:[A-Z]?[a-z]{3,}(?![a-z])\d{0,3}|[A-Z]\d?(?=[A-Z]))+\Z"  # each read in one way only
    return not _pattern(words).match(value) and (_mixed(value) or (len(value) >= 20 and several))


def _mixes_groups(match: re.Match[str]) -> bool:
    """Whether at least three of the groups mix letters and digits."""
    groups = match.group("secret").split("-")
    return sum(not group.isalpha() and not group.isdigit() for group in groups) >= 3


def _issued(match: re.Match[str]) -> bool:
    """Whether what follows the prefix of a token is random."""
    return _random(match) and _jumbled(match.group("secret").rpartition("_")[2])


def _jumbled(value: str) -> bool:
    """Whether capitals, small letters and digits take turns: 0.5 times a character if random, names 0.2."""
    runs = len(_pattern(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+").findall(value))
    return (
        len(value) >= 9
        and runs > (0.32 if len(value) >= 12 else 0.44) * len(value)
        and value.lower() != value != value.upper()
    )


def _url_password(match: re.Match[str]) -> bool:
    """Whether `user:<this>@host` in a URL is a password rather than a place for one."""
    value = match.group("secret")
    example = rf"{re.escape(value)}:{re.escape(value)}@(?:localhost|127\.0\.0\.1)"
    return not (
        len(value) < 4
        or _stands_in(value)
        or value.startswith(":")
        or re.search(
            rf"/{example}", match.string[max(0, match.start("secret") - len(value) - 2) : match.end() + 10]
        )
        or (value[0] in "$%.\\(" and _pattern(rf"\(|{_REFERENCE}").match(value))
    )


def _chosen(match: re.Match[str]) -> bool:
    """Whether a word is a password that somebody chose: no plain word, no placeholder, no reference."""
    return _is_likely(match.group("secret"))


def _is_likely(value: str) -> bool:
    """Whether a word is a password where one is expected: two words and a number, or letters of no word."""
    likely = bool(_pattern(_TITLED).match(value)) or _gibberish(value) or _jumbled(value) or _short(value)
    return _is_password(value) or (likely and not (_stands_in(value) or _pattern(_REFERENCE).match(value)))


def _is_password(value: str) -> bool:
    return (
        len(value) >= 6
        and value.isascii()
        and any(map(str.isalpha, value))
        and (any(map(str.isdigit, value)) or bool(_pattern(_SIGNS).match(value)))
        and not any(_pattern(source).match(value) for source in (_NAME, _TERM, _REFERENCE))
        and not _stands_in(value)
    )


def _only(match: re.Match[str]) -> bool:
    """Whether a word is no placeholder and no reference, where only a secret can stand: `sshpass -p toor`."""
    value = match.group("secret")
    referring = value[0] not in "!#" and _pattern(_REFERENCE).match(value)
    return value[0] not in "-/$%<{&*" and not (referring or _stands_in(value))


def _set(match: re.Match[str]) -> bool:
    """Whether a word that is set as a password may be one: no `text`, no `Passwort`."""
    return _said(match) and not _pattern(r"[A-Z][a-z]+\Z").match(match["secret"])


def _said(match: re.Match[str]) -> bool:
    """Whether a word that a password is said to be may be one: no `weak`, no `required`."""
    value = match.group("secret").rstrip("!?.,")
    about = (
        r"(?i)(?:weak|strong|empty|blank|wrong|incorrect|correct|valid|hash\w*|encrypt\w*|plain\w*|stored?|sent|sets?"
        r"|changed|reset|short|long|safe|never|always|only|the|this|that|same|too|text|varchar|char|email|input"
        r"|checkbox|blob|keyword|hide|show|yes|name|type|auto|data|field|prompt|str|char\w*field|ask|stdin)\Z"
        r"|[a-z]+(?:_[a-z]+)*_(?:pw|pwd|pass|hash|field|input|var|value)\Z"
    )
    return bool(value) and not _pattern(about).match(value) and _only(match)


def _cookies(match: re.Match[str]) -> bool:
    """Whether one of the cookies holds a long random value."""
    values = (cookie.partition("=")[2] for cookie in match.group("secret").split(";"))
    return any(
        len(value) >= 16
        and _mixed(value)
        and not _stands_in(value)
        and not _pattern(r"[A-Z\d.]+\Z").match(value)
        for value in values
    )


def _assigned(key: str, before: str, match: re.Match[str]) -> bool:
    """Whether what is assigned to a name such as `password` or `api_key` is a literal secret.

    A password is any quoted word, or an unquoted one with a digit or a sign in it; a token or a key has at
    least eight characters, letters and digits. A name in capitals (a line of an .env file) may have any
    unquoted word. After a word that says less, such as `key`, the value itself must look like a key.
    """
    value, bare, sign = _value(match), match.group("bare"), match.group("sign")
    if _pattern(r"(?i)(?:totp|otp|mfa|pin)\Z").match(key) and value.isdigit():
        return 4 <= len(value) <= 8
    compared = bare and sign and sign.startswith(("==", "!"))
    address = _pattern(r"[a-z][\w.+-]{0,60}@[a-z][\w-]{0,60}(?:\.[a-z]{2,20}){1,3}\Z").match(value)
    named = sign == ":" and before.endswith(":")  # arn:aws:...:secret:name
    if (
        compared
        or named
        or address
        or (bare and _pattern(_NAME_OF_SECRET).match(value[value.rfind(".") + 1 :]) and "." in value)
        or (bare and _refers(match))
        or "!Ref" in match.group()
        or "!GetAtt" in match.group()
        or (bare and _called(match))
        or _stands_in(value)
        or (
            _pattern(_REFERENCE).match(value)
            and not (value[0] in "/#" and len(value) >= 16 and _jumbled(value))
        )
    ):
        return False
    if _vague(key, before):
        return (_opaque(value) or _scattered(value, key, before)) and not (
            key.lower() == "key" and _pattern(_PUBLIC).search(before)
        )
    if _kind(key) != "password" and _pattern(_KEBAB).match(value):
        return False  # the name of a secret
    of_yaml = sign == ":" and before.endswith("_") and _kind(key) == "password"
    if key.isupper() and (sign == "=" or of_yaml) and bare and not key.startswith("CREDENTIAL"):
        return len(value) >= 6
    signs = "" if value.isalpha() else value.strip(_NAME_CHARACTERS)  # what no plain name begins or ends with
    if _kind(key) in ("password", "secret"):
        return (
            bool(signs) or _jumbled(value) or _gibberish(value) or _short(value)
            if bare
            else len(value) >= 6 and (bool(signs) or "." not in value)
        )
    return (
        len(value) >= 8
        and (not value.isdigit() or len(value) >= (20 if bare else 12))
        and (value.isdigit() or _mixed(value) or _gibberish(value) or _crossed(value))
    )


def _is_digest(value: str, above: str) -> bool:
    """Whether hex stands in a column that is headed as one of digests."""
    return bool("DIGEST" in above and _pattern(r"[0-9a-f]+\Z").match(value))


def _refers(match: re.Match[str]) -> bool:
    """Whether the bare value says where a secret is kept, or follows the name of a branch."""
    start = match.start("bare")
    before = match.string[max(0, start - 200) : start]
    mounted = "-secrets" in before and _pattern(r"--(?:set|update)-secrets[ =]\S*\Z").search(before)
    return bool(mounted or ("stash@" in before and _pattern(r"stash@\{\d+\}: [^\n]*\Z").search(before)))


def _beside(key: str, before: str, match: re.Match[str]) -> bool:
    """Whether what stands beside such a name without an equals sign is a secret: stricter, as for prose."""
    value = _value(match)
    if "loose" in match.re.groupindex and match["loose"] and _kind(key) == "password":
        made_up = _made_up(value) or _short(value) or _jumbled(value) or _gibberish(value)
        return made_up and not (_stands_in(value) or _pattern(_REFERENCE).match(value) or _called(match))
    bare = "bare" in match.re.groupindex and match["bare"]
    if (bare and _called(match)) or _pattern(r"[A-Za-z_]{1,40}=[\w\"'$]").match(value):
        return False  # an argument
    start = match.start(_group(match))
    if _pattern(r"(?i)digest=\"[^\"\n]{3,12}\">\s{0,9}\Z").search(match.string[max(0, start - 40) : start]):
        return False  # of a certificate that is pinned
    if _is_digest(value, match.string[max(0, start - 400) : start]) or _pattern(_TEMPLATE).search(
        match.string[max(0, start - 100) : start]
    ):
        return False
    whole = "element" in match.re.groupindex and (match["element"] or match["attribute"])
    if whole and not _vague(key, before):
        return _of_element(_kind(key), value)
    if _vague(key, before):  # a sum or the name of a file would stand there as well
        cased = (
            any(map(str.isupper, value))
            and any(map(str.islower, value))
            and not _pattern(r".*[./]").match(value)
        )
        quoted = match.end(_group(match)) < match.end() and _owned(key, before)
        random = ((cased or quoted) and _opaque(value)) or _scattered(value, key, before)
        return random and not _stands_in(value) and not _pattern(_PUBLIC).search(before)
    if _kind(key) == "password" or _pattern(r" \d ").match(match.group()):
        numbered = "bare" in match.re.groupindex and _pattern(_NUMBERED).match(value)
        if (
            numbered
            and len(value) >= 8
            and not (_stands_in(value) or _pattern(_REFERENCE).match(value) or _pattern(_TERM).match(value))
        ):
            return True
        words = key.lower() == "passphrase" and _pattern(r"(?:[A-Za-z]{3,12}[-.]){2,9}\w{1,12}\Z").match(
            value
        )
        return _is_likely(value) or bool(words)
    if _kind(key) == "secret" and (_short(value) or _jumbled(value) or _made_up(value)):
        return not (_stands_in(value) or _pattern(_REFERENCE).match(value))
    if "secret" in match.re.groupindex and match["secret"]:
        return _is_likely(value)  # handed to a constructor
    plain = _pattern(r"[A-Za-z]{3,}[-_.]").match(value)
    if len(value) < 16 or _stands_in(value):
        return False
    return _gibberish(value) or _crossed(value) or (not plain and _dense(value) and _is_password(value))


def _of_element(kind: str, value: str) -> bool:
    """Whether the whole content of an element that is named as a secret is one."""
    if (
        _stands_in(value)
        or _pattern(_REFERENCE).match(value)
        or _pattern(r"[@%A-Za-z_.]+[:?]\Z|&\w+;").match(value)
    ):
        return False
    if kind in ("password", "secret"):
        return not _pattern(r"[A-Za-z][a-z]*(?:-[a-z]+)*\Z").match(value) or _gibberish(value)
    return len(value) >= 8 and (_mixed(value) or _gibberish(value))


_TEMPLATE = r"\{\{[^{}\n]*\Z"  # `{{ password | b64enc }}`


def _gibberish(value: str) -> bool:
    """Whether letters follow one another as in no word; of 100 names of ten letters one does too."""
    if len(value) < 9 or not _pattern(r"[A-Za-z0-9_-]+(?:[!?#$%^&*@+~][A-Za-z0-9_-]*)?[!?]?\Z").match(value):
        return False
    pairs = [pair for run in _pattern("[a-z]{2,}").findall(value.lower()) for pair in zip(run, run[1:])]  # noqa: B905, RUF007
    usual = sum(second in _USUAL.get(first, "") for first, second in pairs)
    if len(pairs) < max(7, 0.6 * len(value)) or len(set(pairs)) < 0.6 * len(pairs):
        return False
    crowd = _pattern(r".*[bcdfghjklmnpqrstvwxz]{5}").match(value.lower())
    return usual < (0.6 if crowd else 0.5 if len(pairs) < 15 else 0.58) * len(pairs)


def _short(value: str) -> bool:
    """Whether capitals, small letters and digits take turns in a word of at most nine: `Lp3xVa9`."""
    return (
        6 <= len(value) <= 9
        and len(_pattern(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+").findall(value)) >= 0.5 * len(value)
        and any(map(str.isdigit, value))
        and value.lower() != value != value.upper()
        and value.replace("_", "").isalnum()
    )


def _called(match: re.Match[str]) -> bool:
    """Whether the bare value is called, indexed, or a type that a value is assigned after."""
    after = r"[(\[{]|\.\.\.|<[A-Z]|[ \t]{1,3}=[^=]|[ \t]\*\w|(?<==)[\"'][\w{\[]"
    return bool(_pattern(after).match(match.string, match.end()))


def _vague(key: str, before: str) -> bool:
    of_secret = key.lower() != "auth" and _pattern(_OF_SECRETS).search(before)
    return bool(_pattern(_VAGUE).match(key)) and not of_secret


def _stands_in(value: str) -> bool:
    """Whether a value is a word for a secret: a placeholder, a template, a mask, a sentence, a type."""
    folded = value.lower().strip().rstrip("/")
    if "{" in folded:
        folded = _pattern(r"\{\w{1,12}\}").sub("", folded, 1)
    folded = folded or "none"
    return (
        bool(_pattern(_STAND_IN).match(folded))
        or folded in _ABROAD
        or max(folded) > "\u2e80"  # a sentence in a script without blanks
        or bool(_pattern(_PUBLIC_FORM).match(value))
        or bool(_pattern(_NAME_OF_SECRET).match(value))
        or ("{" in folded and not _crossed(value))
        or any(mark in folded for mark in ("[redacted:", "://", " ", "your", "example"))
        or (value[0], value[-1]) in (("<", ">"), ("[", "]"), ("(", ")"))
        or len(set(folded)) <= 2  # ******, xxxxxx
        or folded.endswith(("xxxxxxxx", "...", ":"))
        or bool(_pattern(r"[\w-]{0,12}(?:\.{3}|…|\*{3,9})[\w-]{0,8}\Z").match(value))
        or (folded[0] in ",;" and folded[-1] in "([{")
    )


def _crossed(value: str) -> bool:
    """Whether brackets close one another's, as in a password that a manager made up and in no template."""
    opened = ""
    for sign in _pattern(r"[(\[{)\]}]").findall(value):
        if sign in "([{":
            opened += sign
        elif opened and opened[-1] + sign not in ("()", "[]", "{}"):
            return not _pattern(r".*(?:\\|\[\^|\(\?)").match(value)
        else:
            opened = opened[:-1]
    return False


_USUAL = {  # the 200 commonest pairs of letters, nine tenths of those in other people's code and documents
    pairs[0]: pairs[1:]
    for pairs in (
        "abcdgilmnprstuy baelou caehiklortu dadeiosu eacdefglmnpqrstvxy faefiloru geirs haeiot "
        "iabcdefglmnoprstvz kei ladefilostu maeiops nacdefginopstu oabcdgklmnoprstuw paeiloprtuy qu "
        "racdegimnorstuy sacehikopstu tacehioprstuy ubeilmnprst vaei wi xet yp ze"
    ).split()
}
_COMMAND = r"(?#command)"  # how the pattern of a command with a flag begins


_STEMS_OF_RULES = *"=($@:-/", "passw", "pass", "pw", "login", "key", "secret"


def _rule(
    kind: str, literals: str, pattern: str, is_genuine: Callable[[re.Match[str]], bool] = lambda _: True
) -> _Rule:
    either = tuple(literals.split("|"))
    stems = [stem for stem in _STEMS_OF_RULES if all(stem in literal for literal in either)]
    needs = " -" if pattern.startswith(_COMMAND) else next(iter(stems), "")
    return _Rule(kind, either, pattern, is_genuine, needs)


def _token(
    kind: str, prefixes: str, rest: str, is_genuine: Callable[[re.Match[str]], bool] = lambda _: True
) -> _Rule:
    """The rule of a token that begins with one of these prefixes, at the beginning of a word."""
    either = "|".join(map(re.escape, prefixes.split()))
    pattern = (
        rf"(?:{either})(?<![A-Za-z0-9_-](?:{either}))"
        if " " not in prefixes
        else rf"(?<![A-Za-z0-9_-])(?:{either})"
    )
    return _Rule(
        kind, tuple(prefixes.split()), f"(?P<secret>{pattern}(?:{rest}))(?![A-Za-z0-9])", is_genuine, ""
    )


_LONG_WORD = r"[^\s\"'`=,;()<>\[\]{}|&?]{16,}"
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_URL = r"[A-Za-z0-9_-]"
_ISSUERS = (  # whose tokens are rare: the name beside one says whose it is
    _token("token", "glrtr- glwt-", r"[A-Za-z0-9_.-]{20,}"),
    _token("token", "slk_ crsr_ rootly_ mlsn.", r"[0-9a-f]{64}"),
    _token("token", "key_ secret_ token_", r"[0-9a-f]{28,64}"),
    _token("token", "pk_", r"[0-9]{6,10}_[A-Z0-9]{32}"),
    _token("token", "CCDB1_ dub_", r"[A-Za-z0-9_]{24,}", _random),
    _token("token", "b_", r"[A-Za-z0-9]{43,46}", _issued),
    _token("token", "RGAPI-", _UUID),
    _token("token", "cr-", r"[0-9a-f]{50,64}"),
    _token("token", "sct_", r"\w{60,}"),
    _token("token", "packagist_ort_ packagist_out_ packagist_uut_ packagist_ors_", r"[0-9a-f]{68}"),
    _token("token", "bb_pr_ bb_ma_ cu_ dose spu- hxtp_", r"[0-9a-z]{30,34}", _random),
    _token("token", "pk_", r"[0-9a-f]{34}"),  # Klaviyo's private keys, in spite of their name
    _token("token", "ghost_ waka_ xaat- xapt- persona_production_ persona_sandbox_", _UUID),
    _token("token", "snyk_uat. snyk_sat.", r"[0-9a-f]{8}\.[A-Za-z0-9._-]{20,}"),
    _token(
        "token",
        "sk_prod_ rk_prod_ sk_org_live_ sk_org_test_ live_ sandbox_ essu_ esecret_ aph0_",
        _URL + "{24,}",
        _issued,
    ),
    _token("token", "da2-", r"[a-z0-9]{26}"),
    _token("token", "SWMTKN-1- SWMKEY-1-", r"[A-Za-z0-9]{40,50}(?:-[a-z0-9]{25})?"),
    _token("token", "bedrock-api-key-", r"[A-Za-z0-9+/=]{60,}"),
    _token("aws-session-token", "IQoJb3JpZ2lu FwoGZXIvYXdz FQoGZXIvYXdz", r"[A-Za-z0-9+/=]{100,}"),
    _token("token", "BBDC-", r"[A-Za-z0-9+/@=]{40,}"),
    _token("token", "AstraCS:", r"[A-Za-z]{24}:[0-9a-f]{64}"),
    _token("token", "dnkey-", r"[a-z0-9=_-]{26}-[a-z0-9=_-]{52}"),
    _token(
        "token",
        "sc_ ext_ scauth_ authress_",
        r"[A-Za-z0-9]{5,30}\.[a-z0-9]{4,6}\.(?:acc[_-])[a-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,120}",
    ),
    _token(
        "token",
        "cfut_ cfat_ cfk_ ddp_ ddw_ jca_ apify_api_ phs_ llx- m0- nyk_v0_ wlu_ wlp_ n8n_api_ os_v2_app_ pnb_",
        _URL + "{30,}",
        _random,
    ),
    _token(
        "token",
        "mdb_sa_sk_ retool_01 fnA samsara_api_ ramp_sec_ xnd_production_ xnd_development_ y0_ sec-c- AQ.",
        _URL + "{36,}",
        _random,
    ),
    _token("token", "endr+ endr-", r"[A-Za-z0-9-]{16}"),
    _token("token", "s-s4t2ud- s-s4t2af-", r"[0-9a-f]{64}"),
    _token("token", "BBFF- BBUS-", r"[A-Za-z0-9]{30}"),
    _token("token", "VF.DM. VF.WS.", r"[0-9a-f]{24}\.[A-Za-z0-9]{16}"),
    _token("token", "hawk.", _URL + r"{20}\." + _URL + "{20}"),
    _token("token", "zpka_", r"[a-z0-9]{32}_[a-z0-9]{8}"),
    _token("token", "1000.", r"[0-9a-f]{32}\.[0-9a-f]{32}"),
    _token("token", "00D", r"[A-Za-z0-9]{12,15}![A-Za-z0-9._]{80,}"),
    _token("token", "AQE", r"[A-Za-z0-9+/=]{20,200}-[A-Za-z0-9+/=]{20,200}-[^\s\"']{8,}"),
    _token("token", "YC", _URL + "{38}", _issued),
    _token("token", "prod- activ- admin- env- user-", r"[0-9a-f]{64,68}v3"),
    _rule("token", "_mmk", r"(?<![\w-])[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?!\w)"),
    _rule(  # Microsoft's keys carry the mark of their service
        "azure-key",
        "AZDO|AzFu|AzSe|AzCa|JQQJ99|+AStA|+ASb|+AEh|+ARm|AIoT|ACDb|+ACR|+ABa",
        r"(?<![\w+/-])(?P<secret>[A-Za-z0-9+/_-]{32,76}"
        r"(?:AZDO|AzFu|AzSe|AzCa|JQQJ99|\+AStA|\+ASb|\+AEh|\+ARm|AIoT|ACDb|\+ACR|\+ABa)"
        r"[A-Za-z0-9+/]{4,24}={0,2})(?![\w+/=])",
        _random,
    ),
    _rule(  # of RSA or an elliptic curve, in base64 without its armour
        "private-key",
        "IBAA|IBAD|AgEA|AgEB|CAQEE|CAQAw",
        r"(?<![\w+/])(?:MII[A-Za-z0-9+/]{3}IBA[AD]|MIG[A-Za-z0-9+/]AgE[AB]|M[A-Z][0-9a-z]CAQ(?:EE|Aw))"
        r"[A-Za-z0-9+/]{40,}={0,2}"
        r"(?:\s{1,20}[A-Za-z0-9+/]{20,}={0,2}){0,60}",
    ),
)
_TOKENS = (
    _rule("jwt", "eyJ", _RUN + r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,3}"),
    _token("aws-access-key", "AKIA ASIA ABIA ACCA", r"[A-Z0-9]{16}"),
    _token("aws-access-key", "amzn.mws.", _UUID),
    _token("digitalocean-key", "DO00 DO801", r"[A-Z0-9]{16,17}", _random),
    _token("aws-bedrock-key", "ABSK", r"[A-Za-z0-9+/]{100,}"),
    _rule("github-token", "ghp_|gho_|ghu_|ghs_|ghr_", _WORD + r"gh[pousr]_[A-Za-z0-9]{30,}"),
    _rule("github-token", "github_pat_", _WORD + r"github_pat_[A-Za-z0-9_]{22,}"),
    _token(
        "gitlab-token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- glsoat- gloas- glffct- GR1348941",
        r"[A-Za-z0-9_.-]{20,}",
    ),
    _rule(
        "slack-token",
        "xoxb-|xoxp-|xoxa-|xoxr-|xoxs-|xoxo-|xoxe-|xoxe.|xoxd-|xoxc-|xapp-",
        _RUN + r"(?P<secret>(?:xox[a-z]|xapp)[-.][A-Za-z0-9_.-]{10,})",
        _random,
    ),
    _rule(
        "slack-webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/_-]{20,})",
    ),
    _rule(
        "zapier-webhook",
        "hooks.zapier.com",
        r"hooks\.zapier\.com/hooks/catch/(?P<secret>[0-9]+/[A-Za-z0-9]{5,})",
    ),
    _rule(
        "discord-token",
        ".",
        r"(?<![A-Za-z0-9_.-])"
        r"(?P<secret>[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})(?![A-Za-z0-9_-])",
        _random,
    ),
    _token("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", r"[A-Za-z0-9]{16,}"),
    _token("webhook-secret", "whsec_", r"[A-Za-z0-9+/=]{24,}"),
    _rule("anthropic-key", "sk-ant-", _RUN + r"sk-ant-[A-Za-z0-9_-]{16,}"),
    _rule("openai-key", "sk-", _RUN + r"(?P<secret>sk-[A-Za-z0-9_-]{20,})", _random),
    _rule("google-api-key", "AIza", _RUN + r"AIza[A-Za-z0-9_-]{35}"),
    _rule("google-oauth", "ya29.|GOCSPX-", _RUN + r"(?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{20,}"),
    _token("google-oauth", "1//0", _URL + "{40,}"),
    _token("firebase-key", "AAAA", _URL + r"{7}:APA91b[A-Za-z0-9_-]{100,}"),
    _token("npm-token", "npm_", r"[A-Za-z0-9]{30,}"),
    _token("pypi-token", "pypi-", _URL + "{40,}"),
    _token("rubygems-token", "rubygems_", r"[0-9a-f]{40,}"),
    _token("woocommerce-key", "ck_ cs_", r"[0-9a-f]{40}"),
    _token("crates-token", "cio", r"[A-Za-z0-9]{32}", _random),
    _token("nuget-key", "oy2", r"[a-z0-9]{43}"),
    _token("clojars-token", "CLOJARS_", r"[0-9a-f]{60}"),
    _rule(
        "huggingface-token", "hf_|api_org_", _WORD + r"(?P<secret>(?:hf|api_org)_[A-Za-z0-9]{30,})", _no_words
    ),
    _rule("supermemory-key", "sm_", _WORD + r"(?P<secret>sm_[A-Za-z0-9_-]{20,})", _random),
    _rule("sendgrid-key", "SG.", _RUN + r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _rule("docker-token", "dckr_", _WORD + r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    _rule("digitalocean-token", "dop_v1_|doo_v1_|dor_v1_", _WORD + r"do[opr]_v1_[a-f0-9]{40,}"),
    _token("databricks-token", "dapi", r"[a-f0-9]{32}(?:-\d)?"),
    _rule("vault-token", "hvs.|hvb.|hvr.", _RUN + r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    _token("vault-token", "s.", r"(?<![\w.]s\.)[A-Za-z0-9]{24}", _issued),
    _rule("zhipu-key", ".", r"(?<![\w.-])(?P<secret>[0-9a-f]{32}\.[A-Za-z0-9]{16})(?![\w.-])", _random),
    _rule("shopify-token", "shpat_|shpca_|shppa_|shpss_", _WORD + r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32,}"),
    _token("groq-key", "gsk_", r"[A-Za-z0-9]{40,}"),
    _rule("telegram-token", ":A", r"(?<![0-9])[0-9]{8,10}:A[A-Za-z0-9_-]{32,40}(?![A-Za-z0-9_-])"),
    _rule("age-key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{40,}"),
    _token("twilio-key", "SK", r"[0-9a-f]{32}"),
    _token("mailgun-key", "key-", r"[0-9a-z]{32}", _random),
    _rule("mailgun-key", "-", r"(?<![\w-])(?P<secret>[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8})(?![\w-])"),
    _rule("mailchimp-key", "-us", r"(?<![\w-])(?P<secret>[0-9a-f]{32}-us[0-9]{1,2})(?!\w)"),
    _token("brevo-key", "xkeysib- xsmtpsib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    _token("resend-key", "re_", r"[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}", _random),
    _token("heroku-key", "HRKU-", _URL + "{30,}"),
    _token("grafana-token", "glsa_ glc_", r"[A-Za-z0-9+/]{32,}={0,2}(?:_[0-9a-f]{8})?"),
    _token("linear-key", "lin_api_ lin_oauth_ lin_wh_", r"[A-Za-z0-9]{32,}"),
    _token("notion-token", "ntn_", r"[A-Za-z0-9]{40,}"),
    _token("notion-token", "secret_", r"[A-Za-z0-9]{40,}", _random),
    _token("replicate-token", "r8_", r"[A-Za-z0-9]{30,}"),
    _token("netlify-token", "nfp_ nfb_ nfc_ nfo_ nfu_", r"[A-Za-z0-9]{36,}"),
    _token("posthog-key", "phx_", r"[A-Za-z0-9]{40,}"),
    _token("atlassian-token", "ATATT3 ATCTT3 ATBB", r"[A-Za-z0-9_+/=-]{24,}"),
    _token("sentry-token", "sntrys_ sntryu_", r"[A-Za-z0-9+/=_-]{40,}"),
    _token("supabase-key", "sbp_", r"(?:v\d_)?[0-9a-f]{40,}"),
    _token("supabase-key", "sb_secret_", _URL + "{20,}"),
    _token("xai-key", "xai-", r"[A-Za-z0-9]{40,}"),
    _token("perplexity-key", "pplx-", r"[A-Za-z0-9]{40,}"),
    _token("new-relic-key", "NRAK- NRII- NRIQ- NRRA- NRJS- NRAL-", _URL + "{18,}"),
    _rule("new-relic-key", "NRAL", r"(?<![\w-])(?P<secret>[0-9A-Za-z]{32,40}NRAL)(?!\w)"),
    _token("fly-token", "fm2_ fm1r_ fm1a_ fo1_", r"[A-Za-z0-9+/=_,-]{40,}"),
    _token("airtable-token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _token("airtable-token", "key", r"[A-Za-z0-9]{14}", _issued),
    _token("figma-token", "figd_ figo_ figu_", _URL + "{36,}"),
    _token("postman-key", "PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    _token("pulumi-token", "pul-", r"[0-9a-f]{40}"),
    _rule(
        "terraform-token",
        ".atlasv1.",
        r"(?<![\w.-])(?P<secret>[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,})",
    ),
    _token("doppler-token", "dp.", r"(?:ct|pt|st|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}"),
    _token("planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_ pscale_app_secret_", _URL + "{30,}"),
    _token("square-token", "EAAA sq0csp- sq0atp- sq0idp-", r"[A-Za-z0-9_-]{22,}", _random),
    _token("facebook-token", "EAA", r"[A-Za-z0-9]{100,}"),
    _token("typeform-token", "tfp_", _URL + "{40,}", _random),
    _token("dynatrace-token", "dt0c01. dt0s01. dt0s16.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _token("adafruit-key", "aio_", r"[A-Za-z0-9]{28}", _random),
    _token("easypost-key", "EZAK EZTK", r"[A-Za-z0-9]{54}"),
    _token("sourcegraph-token", "sgp_", r"(?:[0-9a-fA-F]{16}_|local_)?[0-9a-fA-F]{40}|[A-Za-z0-9]{64}"),
    _token("launchdarkly-key", "api- sdk- mob-", _UUID),
    _token("hubspot-token", "pat-", r"(?:na|eu|ap)\d-" + _UUID),
    _token("contentful-token", "CFPAT-", _URL + "{40,}"),
    _token("readme-key", "rdme_", r"[a-z0-9]{60,}"),
    _token("tailscale-key", "tskey-", r"[a-z]{3,12}-[A-Za-z0-9]{8,}(?:-[A-Za-z0-9]{8,})?"),
    _token("1password-token", "ops_", r"eyJ[A-Za-z0-9+/_=-]{100,}"),
    _token(
        "1password-key",
        "A3-",
        r"[A-Z0-9]{6}-[A-Z0-9]{6}(?:-[A-Z0-9]{5}){3}|[A-Z0-9]{6}-[A-Z0-9]{11}(?:-[A-Z0-9]{5}){2}",
    ),
    _rule(
        "azure-secret",
        "Q~",
        r"(?<![\w~.-])(?P<secret>[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34})"
        r"(?![\w~])",
    ),
    _token("alibaba-key", "LTAI", r"[A-Za-z0-9]{12,24}", _random),
    _token("yandex-key", "AQVN t1.9", r"[A-Za-z0-9_.=-]{35,}", _random),
    _token("buildkite-token", "bkua_ bkaj_ bkar_", r"[0-9a-f]{40}"),
    _token("circleci-token", "CCIPAT_ CCIPRJ_", r"[A-Za-z0-9]{20,}_[0-9a-f]{40}"),
    _token("artifactory-token", "AKCp cmVmdGtu", r"[A-Za-z0-9]{54,}"),
    _token("langsmith-key", "lsv2_", r"(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    _token("pinecone-key", "pcsk_", r"[A-Za-z0-9]{5,8}_[A-Za-z0-9]{40,}"),
    _token("cerebras-key", "csk-", r"[a-z0-9]{40,}", _random),
    _token("tavily-key", "tvly-", r"(?:dev-|prod-)?[A-Za-z0-9]{24,}", _random),
    _token("firecrawl-key", "fc-", r"[0-9a-f]{32}"),
    _token("daytona-key", "dtn_", r"[0-9a-f]{64}"),
    _token("context7-key", "ctx7sk-", _UUID),
    _token("razorpay-key", "rzp_live_ rzp_test_", r"[A-Za-z0-9]{14}"),
    _token(
        "braintree-token", "access_token$production$ access_token$sandbox$", r"[a-z0-9]{16}\$[0-9a-f]{32}"
    ),
    _token("e2b-key", "e2b_", r"[0-9a-f]{40}"),
    _token("lob-key", "live_ test_", r"[0-9a-f]{32,35}"),
    _token("elevenlabs-key", "sk_", r"[0-9a-f]{40,}"),
    _token("honeycomb-key", "hcaik_ hcamk_ hcbik_", r"[a-z0-9]{40,}"),
    _token("jina-key", "jina_", r"[A-Za-z0-9_-]{50,}"),
    _token("voyage-key", "pa-", r"[A-Za-z0-9_-]{43}", _random),
    _token("nvidia-key", "nvapi-", _URL + "{50,}"),
    _token("together-key", "tgp_v1_", _URL + "{40,}"),
    _token("fireworks-key", "fw_", r"[A-Za-z0-9]{22,24}", _random),
    _token("dropbox-token", "sl.", r"[A-Za-z0-9_-]{100,}|[A-Z]\.[A-Za-z0-9_-]{100,}"),
    _token("shippo-token", "shippo_live_ shippo_test_", r"[0-9a-f]{40}"),
    _token("duffel-token", "duffel_live_ duffel_test_", _URL + "{40,}"),
    _token("flutterwave-key", "FLWSECK", r"(?:_TEST)?-[0-9A-Za-z]{12,}(?:-X)?"),
    _token("frameio-token", "fio-u-", _URL + "{60,}"),
    _token("prefect-key", "pnu_", r"[A-Za-z0-9]{36}"),
    _token("infracost-key", "ico-", r"[A-Za-z0-9]{32}"),
    _token("vercel-token", "vercel_blob_rw_ vcp_ vck_", r"[A-Za-z0-9_]{24,}", _random),
    _token("mapbox-token", "sk.", r"eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}"),
    _token("confluent-secret", "cflt", r"[A-Za-z0-9+/]{60}"),
    _token("asana-token", "1/ 2/", r"[0-9]{16}(?:/[0-9]{16})?:[0-9a-f]{32}"),
    _token("intercom-token", "dG9rO", r"[A-Za-z0-9+/=]{50,}"),
    _token("render-key", "rnd_", r"[A-Za-z0-9]{28,}", _random),
    _token("statsig-key", "secret-", r"[A-Za-z0-9]{40,}", _random),
    _token("trigger-key", "tr_dev_ tr_prod_ tr_stg_", r"[A-Za-z0-9]{20,}", _random),
    _token("okta-token", "00", _URL + "{40}", _random),
    _token("adobe-secret", "p8e-", r"[A-Za-z0-9]{32}"),
    _token("cloudflare-key", "v1.0-", r"[0-9a-f]{24}-[0-9a-f]{100,}"),
    _token("harness-token", "pat. sat.", r"[A-Za-z0-9_-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}"),
    _token("octopus-key", "API-", r"[A-Z0-9]{26}", _random),
    _token("openshift-token", "sha256~", _URL + "{43}"),
    _token("plaid-token", "access-sandbox- access-development- access-production-", _UUID),
    _token("sonar-token", "squ_ sqp_ sqa_", r"[0-9a-f]{40}"),
    _token("scalingo-token", "tk-us-", _URL + "{48}"),
    _token("tencent-key", "AKID", r"[A-Za-z0-9]{32}", _random),
    _token("trello-token", "ATTA", r"[0-9a-f]{72}"),
    _token("twitter-token", "AAAAAAAAAAAAAAAAAAAAA", r"[A-Za-z0-9%]{40,}", _random),
    _token("runpod-key", "rpa_", r"[A-Z0-9]{40,}"),
    _token("neon-key", "napi_", r"[a-z0-9]{60,}"),
    _token("inngest-key", "signkey-prod- signkey-test- signkey-branch-", r"[0-9a-f]{32,}"),
    _token("akamai-token", "akab-", r"[a-z0-9]{16}-[a-z0-9]{16}(?!\.)"),
    _token("porkbun-key", "sk1_", r"[0-9a-f]{64}"),
    _token("telnyx-key", "KEY0", r"[0-9A-F]{30}_[A-Za-z0-9]{22}"),
    _rule(
        "encoded-credentials",
        "eyJ",
        r"(?<![\w.+/-])(?<!base64,)eyJ[A-Za-z0-9+/_-]{80,}={0,2}(?![\w.+/-])",
        lambda match: (
            not _pattern(
                r"(?i)(?:cursor|next|page|state|after|before|token)\w{0,12}[\"']?[:=][ ]?[\"']?\Z"
            ).search(match.string[max(0, match.start() - 30) : match.start()])
        ),
    ),
    *_ISSUERS,
    _token(
        "paseto",
        "v1.local. v2.local. v3.local. v4.local. v1.public. v2.public. v3.public. v4.public.",
        _URL + "{40,}",
    ),
    _token("private-key", "nsec1", r"[a-z0-9]{58}"),
    _token("private-key", "xprv yprv zprv tprv", r"[A-Za-z0-9]{100,112}"),
    _rule(  # the armour of a private key, of any kind, in base64
        "kubernetes-key",
        "LS0tLS1CRUdJTi",
        r"(?<![\w+/-])LS0tLS1CRUdJTi(?:BSU0EgU|BQUkl|BFQyBQ|BPUEVOU1NI)[A-Za-z0-9+/]{40,}={0,2}",
    ),
    _rule(
        "licence-key",
        "-",
        r"(?<![\w-])(?P<secret>[A-Z0-9]{5}(?:-[A-Z0-9]{5}){4})(?![\w-])",
        _mixes_groups,
    ),
    _rule("recovery-key", "-", r"(?<![\d-])\d{6}(?:-\d{6}){7}(?![\d-])"),
    _token("aiven-password", "AVNS_", _URL + "{16,}", _random),
    _rule(  # of an issuer that no rule names: few ids have so long a random part, and no name has
        "token",
        "_",
        (
            r"(?<![A-Za-z0-9_-])(?P<secret>(?!(?:pk|phc|pub\w{0,5})_)(?:[a-z][a-z0-9]{1,11}|"
            r"[A-Z][A-Z0-9]{1,11})_(?:"
            r"[a-z]{2,6}_)?[A-Za-z0-9]{32,200})(?![\w-])"
        ),
        _issued,
    ),
)


_GAP = r"(?:[ \t]|\\\r?\n){1,8}"  # between a flag and its argument


def _command(names: str, flags: str) -> str:
    """The pattern of a command line that holds a password beside one of its flags."""
    first = "|".join(rf"{name}(?<![\w.-]{name})" for name in names.split("|"))  # found quickly, as a literal
    arguments = r"[\w-]{0,12}[ \t](?:[^\n|;]|(?<=\\)\n){0,200}?(?<!\S)"
    return rf"{_COMMAND}(?:{first}){arguments}(?:{flags})[\"']?(?!\[redacted:)(?P<secret>[^\s\"'`]{{4,}})"


_COMMANDS = (  # with the flags that a password follows, any word but a placeholder
    ("sshpass", rf"-p(?:{_GAP})?"),
    ("redis-cli", rf"-a{_GAP}|--pass{_GAP}"),
    ("curl", rf"(?:-u|--user)(?:{_GAP}|=)?[\"']?[^\s:\"']{{1,64}}:"),
    ("ldapsearch|ldapadd|ldapmodify|ldapdelete|ldappasswd|ldapwhoami", rf"-w{_GAP}"),
    ("smbclient|rpcclient", rf"-U{_GAP}[\"']?[^\s%\"']{{1,64}}%"),
    ("sqlcmd|bcp|ipmitool|osql", rf"-P(?:{_GAP})?"),
    ("docker login|podman login|helm registry login|oras login", rf"-p{_GAP}"),
    ("7z|7za|unrar|mysql|mysqldump|mysqladmin|mariadb", r"-p(?!bkdf|ass(?:word)?\b)"),
    ("mongo|mongosh|mongodump|mongorestore|useradd|usermod", rf"-p{_GAP}"),
    ("zip|unzip|mosquitto_pub|mosquitto_sub|ssh-keygen|oathtool", rf"-[PNb](?:{_GAP})?"),
)
_CALLS = (
    "connect connection directoryentry mysqli credential credentials bind login signin auth auth= pdo begin "
    "superuser create_user"
).split()
_ANY_CALL = "|".join(
    rf"(?<={name}\()" for name in (*_CALLS, "auth = ", "credentials::new")
)  # `re` finds the parenthesis quickly

_IN_LIST = (  # before a value of a list, after those that are gone
    r"[\"']?:[ ]?\[(?:[\"']\[redacted:[a-z-]{1,20}\][\"'],\s{0,9}){0,4}[\"']"
)
_LINES = (
    _rule("azure-signature", "sig=", r"(?<=[?&;])sig=(?P<secret>[A-Za-z0-9%+/=_-]{30,})"),
    _rule("url-signature", "signature=", r"(?i)(?<=[?&-])signature=(?P<secret>[A-Za-z0-9%+/=_-]{30,})"),
    _rule(
        "bearer-token", "bearer", r"earer(?<=[Bb]earer)[ \t]{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{12,})", _random
    ),
    _rule(
        "basic-auth",
        "basic",
        r"(?i)auth(?:orization)?[\"'\\]{0,3}[ \t]{0,3}[:= ][ \t]{0,3}[\"'\\]{0,3}basic[ \t]{1,4}"
        r"(?P<secret>[A-Za-z0-9+/=_-]{8,})",
    ),
    _rule(
        "token",
        "authorization",
        r"(?i)authorization[\"'\\\]]{0,3}[ \t]{0,3}[:=,][ \t]{0,3}[fbru]?[\"'`\\]{0,3}"
        r"(?:digest[^\n]{1,300}?response=|[a-z][a-z-]{1,30})[ \t=\"]{0,2}"
        r"(?:token=)?[\"]?"
        r"(?P<secret>[A-Za-z0-9+/=_.~-]{16,})",
        _random,
    ),
    _rule(
        "url-password",
        "://",
        r"://[^\s:/@?#\[\]\"'<>`]*:"
        r"(?P<secret>[^\s/\[\]\"'<>`]+)@",
        _url_password,
    ),
    _rule(  # 64 bytes, which no digest ends in two equals signs without its name before it
        "api-key",
        "==",
        r"(?<![A-Za-z0-9+/=_-])(?P<secret>[A-Za-z0-9+/]{86}==)(?![\w=])",
        lambda match: (
            not _pattern(_PLACE_OR_DIGEST).search(match.string[max(0, match.start() - 60) : match.start()])
        ),
    ),
    _rule("url-password", "://", r"://(?P<secret>[A-Za-z0-9_.~-]{20,})(?::x-oauth-basic)?@", _random),
    _rule(
        "url-password",
        "thin:|sqlplus",
        r"(?:thin:|sqlplus[ \t]{1,4}(?:-\w{1,8}[ \t]{1,4}){0,3})[^\s/@:]{1,64}/(?P<secret>[^\s/]{4,64})@",
        _chosen,
    ),
    _rule(
        "seed-phrase",
        "phrase|mnemonic|paper|seed words|recovery words|backup words|seed:|seed is|seed =",
        r"(?i)(?:(?:seed|recovery|secret|backup|from)[ _-]?(?:phrase|words?)"
        r"|mnemonic|paper ?key|\bseed\b)[^\n]{0,120}?[:= \"'`\n]"
        r"[\s\"'`]{0,3}(?P<secret>(?:\d{1,2}[.)][ \t])?[a-z]{3,8}(?:(?:[ ,]{1,2}"
        r"|\s{1,3}\d{1,2}[.)][ \t]|\n)[a-z]{3,8}){11,23})(?![a-z])",
        lambda match: not _pattern(_FUNCTION_WORD).search(match.group("secret")),
    ),
    _rule(  # words as a passphrase
        "password",
        "passphrase|psk|passwort|password",
        r"(?i)(?:passphrase|psk|passwor[dt])(?: (?:is|to|(?:for|of) [\w' -]{1,40}?(?: is|:))[ :]{1,2}"
        r"| \([\w ]{1,20}\): |[\"']?[ \t]?[:=(][ \t]?| \(| (?=[\"'`“]))[\"'`“]?"
        r"(?P<secret>[a-z]{3,12}(?:[ -](?:[a-z]{3,12}|\d{1,6})){1,11}?)"
        r"(?=[\"'`)”]|[ .,;]*(?:\n|\Z)|[.,;] | (?:for|on|as|and|in|until)\b)",
        lambda match: _words(match),  # noqa: PLW0108 - it stands below
    ),
    _rule(  # as Google and Apple give them to other programs
        "password",
        "pass",
        r"(?i)pass(?:w[\s\S]{0,140}?|\w{0,12}[\"'\]]{0,2}[ \t]{0,3}[:=][ \t]{0,3}[\"']?)(?<![\w-])"
        r"(?P<secret>(?-i:[a-z]{4}(?:[ -][a-z]{4}){3}))(?![\w -])",
        lambda match: not _pattern(_FUNCTION_WORD).search(match.group("secret")),
    ),
    _rule(
        "api-key",
        "key=|auth=|sign=|id=",
        (
            r"(?i)[?&](?:app_?id|key|api_?key|\w{0,12}auth|sign|[\w-]{1,20}[_-]key)=(?P<secret>[A-"
            r"Za-z0-9_-]{24,})"
        ),
        lambda match: _opaque(match.group("secret")),
    ),
    _rule(
        "webhook",
        "hook",
        r"(?i)hook[\w.-]{0,40}/(?P<secret>[^\s\"'<>?#]{24,300})",
        lambda match: any(map(_segment, match.group("secret").split("/"))),
    ),
    _rule(
        "api-key",
        "/v",
        r"//[\w.-]{4,100}/v\d/(?P<secret>[A-Za-z0-9_-]{30,64})(?![\w/.-])",
        lambda match: _opaque(match.group("secret")),
    ),
    _rule(
        "token",
        "secretid|secret id|secret_id",
        rf"(?i)secret[ _]?id[\"']?[ \t]{{0,20}}[:=][ \t]{{0,20}}[\"']?(?P<secret>{_UUID})",
    ),
    _rule(  # what a client of a mail, file or key server says
        "password",
        "AUTH |PASS |auth plain",
        (
            r"(?m)^(?:\S{1,40}> ?|C: |> |< )?(?:AUTH(?: PLAIN| LOGIN)?|PASS)[ ](?:\w{1,30} )?[\"']"
            r"?(?P<secret>[^\s\"']{6,200})[\"']?[ \t]*$"
        ),
        lambda match: (
            not (match.group("secret").isalpha() and not _jumbled(match.group("secret")))
            and not _stands_in(match.group("secret"))
            and not _pattern(r"[\w./-]+\.\w{1,5}\Z|\w+:\Z").match(match.group("secret"))
        ),
    ),
    _rule(  # a flag beside the flag of a user
        "password",
        " -p| -P| -w",
        (
            r"(?<!\S)(?:-u|-U|--user(?:name)?|-l)[ =]?[^\s-]\S{0,63}(?: [^\n"
            r"|;]{0,80}?)? -[pPw] ?[\"']?(?P<secret>[^\s\"'$/<-][^\s\"'/]{5,63})(?![^\s\"'])"
        ),
        lambda match: (
            not match.group("secret").isdigit()
            and not _pattern(r"[a-z_-]+\Z|\d+:|[\w-]+\.[a-z]{2,4}\Z").match(match.group("secret"))
            and not _stands_in(match.group("secret"))
        ),
    ),
    _rule(
        "private-key",
        '"kty"',
        r"\"(?:d|k|p|q|dp|dq|qi)\"[ \t]{0,2}:\s{0,2}\"(?P<secret>[A-Za-z0-9_-]{20,})\"",
    ),
    _rule(
        "password",
        "sensitive|random_password|securestring",
        r"\"(?:[Vv]alue|result)\"[ \t]{0,2}:\s{0,2}\"(?P<secret>[^\"\s]{8,})\"",
        lambda match: (
            _is_likely(match.group("secret"))
            and bool(
                _pattern(r"(?i)sensitive|random_password|securestring").search(
                    match.string, max(0, match.start() - 300), match.end() + 200
                )
            )
        ),
    ),
    _rule("oauth-code", "code=", r"(?<=[?&])code=(?P<secret>[A-Za-z0-9._~%/-]{20,})", _random),
    _rule(
        "password",
        " -u| --user| --proxy-user| -auth| --auth",
        r" (?:-u|--user|--proxy-user|--?auth)(?:[ \t=]|\\\r?\n)"
        r"{0,8}[\"']?[^\s:,\"'$/]{1,64}[\"']?[:,][\"']?\{?"
        r"(?P<secret>[^\s\"'`]{4,}?)(?=\}?(?:[\s\"'`]|\Z))",
        _chosen,
    ),
    _rule(
        "password",
        "htpasswd",
        r"htpasswd (?:-[A-Za-z]{1,4} ){0,4}-\w{0,6}b\w{0,6}(?: -[A-Za-z]{1,4}){0,4}"
        r"(?:[ \t]\S{1,200})?[ \t]\S{1,200}[ \t][\"']?(?P<secret>[^\s\"'/]{4,})",
        _only,
    ),
    _rule(
        "password",
        "net use|rabbitmqctl|mc alias|http-basic.",
        r"(?:net user|net use (?:\S{1,40}|[^\n]{0,80}?(?=[ \t]/user:))|rabbitmqctl (?:add_user"
        r"|change_password)|http-basic\.\S{1,40}"
        r"|mc alias set \S{1,40} \S{1,200})[ \t]\S{1,200}[ \t][\"']?(?P<secret>[^\s\"'/]{4,})",
        _chosen,
    ),
    _rule(  # a variable of an image or of a deployment
        "secret",
        "ENV |ARG |env add |setenv ",
        r"(?:\b(?:ENV|ARG)|env add|setenv)[ \t]{1,4}(?:[A-Z0-9]{1,20}_){0,4}"
        r"(?:PASS\w{0,8}|PWD|SECRET|TOKEN|KEY)(?:_[A-Z0-9]{1,12})?[ \t]{1,4}[\"']?(?P<secret>[^\s\"']{6,})",
        _chosen,
    ),
    *(_rule("password", names, _command(names, flags), _only) for names, flags in _COMMANDS),
    _rule(
        "password",
        "net user|add_user|change_password|wpa_passphrase|nmcli",
        r"(?:net user \S{1,64} (?=\S{1,64} /add)|rabbitmqctl (?:add_user|change_password) \S{1,64} "
        r"|wpa_passphrase \S{1,64} |nmcli [^\n]{1,120}? password )[\"']?(?P<secret>[^\s\"']{4,64})",
        _only,
    ),
    _rule(
        "secret",
        "--from-literal",
        r"--from-literal[= ][\"']?"
        r"(?!\w{0,20}(?:user|name|host|port|db|database|mail|url|endpoint|region|id)=)[\w.-]{1,60}=[\"']?(?P<secret>[^\s\"']{4,})",
        _only,
    ),
    _rule(
        "password",
        "--",
        r"--(?:[a-z]{1,20}-){0,3}(?:password|passwd|passphrase)=[\"']?(?P<secret>[^\s\"'\[\](){}]{4,64})",
        _said,
    ),
    _rule(
        "password",
        "password '|password = '|password='|password n'|password=n'|password = n'|password('|password ('",
        r"(?i)(?:(?:create|alter) (?:user|role|login)\s[^\n;']{1,100}(?:'[^\n;']{1,60}'[^\n;']{0,60})?"
        r"\spassword\s{0,3}=?\s{0,3}n?|\bpassword\()'(?P<secret>[^\s']{4,64})'",
        _only,
    ),
    _rule(
        "url-password",
        "password=|passwd=|pwd=|pass=",
        r"(?i)[?&](?:password|passwd|pwd|pass)=(?P<secret>[^\s&\"'<>{}$%\[\]()]{4,64})",
        _set,
    ),
    _rule(
        "password",
        "password=",
        r"(?:host|user|dbname|port)=[^\s\"';,&]{1,100}[ ](?:\w{1,20}=[^\s\"';,&]{1,100}[ ]){0,4}"
        r"password=(?P<secret>[^\s\"'<>{}$%\[\](),]{4,64})",
        _set,
    ),
    _rule(
        "password",
        "password>|passwd>|pwd>|passphrase>",
        r"(?i)<(?:\w{1,20}:)?(?:\w{0,20}password|passwd|pwd|passphrase)>(?P<secret>[^\s<>{}$]{4,64})</",
        _set,
    ),
    _rule(  # of a user, on the same line
        "password",
        "password|passwd",
        r"(?i)(?:user(?:name)?|login|e-?mail)[*_`]{0,3}[ ]?[:=][ *_`]{0,4}[\w.@-]{2,64}[*_`]{0,3}"
        r"[,;/]?[ ]{1,3}(?:and )?(?:password|passwd)[*_`]{0,3}"
        r"[ ]?[:=][ *_`]{0,4}(?P<secret>[^\s\"'`*<>{}$()\[\],;]{4,64})",
        _set,
    ),
    _rule(
        "password",
        "basicauth(|auth=(|credential(|credentials(|basic_auth(|.auth(",
        r"(?i)(?:basic_?auth|auth=|credentials?|\.auth)\([\"'][^\"'\n]{1,64}[\"'],[ \t]?"
        r"[\"'](?P<secret>[^\s\"']{4,64})[\"']\)",
        _set,
    ),
    _rule(
        "password", "ansible_", r"ansible_\w{0,20}pass(?:word)?[=:][ ]?[\"']?(?P<secret>[^\s\"']{4,})", _only
    ),
    _rule(  # in a connection string
        "password",
        "password|pwd",
        r"(?i);[ ]?(?:password|pwd)[ ]?=[ ]?(?P<secret>[^\s;\"'<>{}$]{4,64})(?=[;\"'])",
        _only,
    ),
    _rule(  # of Django, with its own alphabet
        "api-key",
        "KEY",
        r"KEY[\"']?[ ]?[=:][ ]?[\"']?(?P<secret>(?:django-insecure-)?[a-z0-9!@#$%^&*()_=+-]{50})(?![^\s\"'])",
        _random,
    ),
    _rule(
        "password",
        "password",
        r"(?i)user(?:name)? (?P<quote>[\"'`*]{1,2})[^\s\"'`*]{1,64}(?P=quote),?\s{1,4}"
        r"(?:(?:and|with|/)\s{1,4})?(?:the )?password (?P=quote)(?P<secret>[^\s\"'`*]{4,64})(?P=quote)",
        _only,
    ),
    _rule(
        "password",
        "machine",
        r"machine(?<!\wmachine)\s{1,4}(?:[\w-]{1,60}\.){1,6}[\w-]{1,60}\s{1,20}login\s{1,4}\S{1,100}\s{1,20}password\s{1,4}(?P<secret>\S{4,})",
        _only,
    ),
    _rule(  # of a router or a switch
        "password",
        "enable |password | secret |community |authentication-key | key 0| key 7| secret 5",
        r"(?:enable (?:secret|password)(?: level \d{1,2})?(?: \d)?"
        r"|(?:username|login|user) [^\s\"']{1,64} (?:privilege \d{1,2} )?(?:password|secret)(?: [057])?"
        r"|snmp-server community|authentication-key \d{1,5} \w{2,10}"
        r"|(?:key|password|secret) [057](?= \S{6})) [\"']?(?P<secret>[^\s\"']{4,64})",
        lambda match: not match["secret"].isalpha() and _only(match),
    ),
    _rule(  # set below or beside its user
        "password",
        "password|passwd|pwd|pass=|pass =|pass:",
        r"(?im)^[ \t]{0,20}(?:[\w-]{0,20}[._-])?(?:user(?:[._-]?name)?|login|uid)[ \t]{0,8}[=:]"
        r"[ \t]{0,8}[\w.@-]{2,64}[ \t]*\n"
        r"(?:[ \t]{0,20}(?://|\#|;|[\w.-]{1,40}[ \t]{0,8}[=:])[^\n]{0,200}\n){0,2}"
        r"[ \t]{0,20}(?:[\w-]{0,20}[._-]){0,6}(?:password|passwd|pass|pwd)[ \t]{0,8}[=:][ \t]{0,8}"
        r"(?P<secret>[^\s\"'(){}\[\],;]{4,64})[ \t]*$",
        _set,
    ),
    _rule(  # a line of a file of properties
        "password",
        ".password=|.passwd=|.pwd=|.passphrase=|.pass=",
        r"(?m)^[ \t]{0,20}(?!self|this|cls|args|opts)[a-z][\w-]{0,40}(?:\.[\w-]{1,40}){0,8}?"
        r"\.(?:password|passwd|pwd|passphrase|pass)=(?P<secret>[^\s\"'(){}\[\],;]{4,64})[ \t]*$",
        _set,
    ),
    _rule(  # as it is said
        "password",
        "password|passphrase|passcode|psk|shared key",
        r"(?i)(?:password|passphrase|passcode|psk|pre-?shared key)(?: for [^.\n]{1,60}?)? (?:is|was)"
        r"(?: (?:set to|now|still))?:? (?:[\"'`“]|\*\*|``)(?P<secret>[^\s\"'`”*]{4,64})(?:[\"'`”]|\*\*|``)",
        _said,
    ),
    _rule(
        "password",
        "password is ",
        r"(?i)(?:the|my|our|your|its|'s|root|admin|login|default) password is "
        r"(?P<secret>[a-z]{4,20}\d{1,4})(?![\w-])",
        lambda match: _only(match) and not _pattern(_TERM).match(match["secret"]),
    ),
    _rule(
        "password",
        "wifi.begin(|login(|log_in(|signin(|sign_in(|authenticate(",
        r"(?i)(?:wifi\.begin|log_?in|sign_?in|authenticate)\([\"'][^\"'\n]{1,64}[\"'],[ \t]?"
        r"[\"'](?P<secret>[^\s\"']{6,64})[\"']\)",
        _set,
    ),
    _rule(
        "password",
        "-storepass|-keypass|pass:",
        r"(?:-(?:store|key|srcstore|deststore)pass[ =]|-pass(?:in|out)?[ =]pass:)"
        r"[\"']?(?P<secret>[^\s\"']{4,64})",
        _only,
    ),
    _rule(
        "api-key",
        "define",
        r"define\([ ]?[\"'][A-Z_]{0,20}(?:KEY|SALT)[\"'],\s{1,20}'(?P<secret>[^'\n]{40,90})'",
    ),
    _rule(
        "password",
        "password(",
        r"(?i)\.(?:with|set)_?password\([\"'](?P<secret>[^\s\"']{4,64})[\"']\)",
        _only,
    ),
    _rule(
        "api-key",
        "cipheriv(|jwt.sign(|jwt.verify(",
        r"(?:cipheriv|Cipheriv|jwt\.(?:sign|verify))\("
        r"(?:[\"'][\w-]{1,20}[\"']|[\w.]{1,40}|\{[^{}\n]{0,100}\}),[ ]?"
        r"(?:[\"']\[redacted:[a-z-]{1,20}\][\"'],[ ]?)?[\"'](?P<secret>[^\s\"']{8,100})[\"']",
        _only,
    ),
    _rule("password", "<<<", r"<<<[ \t]{0,4}\$?[\"']?(?P<secret>[^\s\"'$\\]{8,})", _chosen),
    _rule(
        "password",
        "mysql|mariadb|7z|unrar|mongo| login |redis-cli|ldap|openssl|smbclient|snmp",
        _command(
            "mysql|mariadb|7z|unrar|mongo|docker login|podman login|az login|oc login|cf login"
            "|registry login|redis-cli|ldap|openssl|smbclient|snmp",
            rf"-p(?!bkdf|ass)(?:{_GAP})?|-[aAXcwkK]{_GAP}|-pass(?:in|out)?{_GAP}pass:|-U{_GAP}[^\s%]{{1,64}}%",
        ),
        _chosen,
    ),
    _rule(
        "password",
        "echo |printf ",
        r"\b(?:echo|printf)[ \t](?:-n[ \t])?[\"']?(?P<secret>[^\s\"']{4,64})[\"']?[ \t]*\|[ \t]*"
        r"(?:[\w./-]+[ \t][^\n|]{0,120}?(?:--?password-stdin|--with-token|secrets? (?:put|set))"
        r"|sudo[ \t]+-S|(?:sudo[ \t]+)?(?:su\b|passwd\b|chpasswd))",
        _only,
    ),
    _rule(
        "api-key",
        "jwt.",
        r"jwt\.(?:sign|verify|encode|decode)\((?:[^\n\"'`{}]{1,80}|\{[^\n{}]{0,200}\}),[ \t]{0,4}b?[\"'`]"
        r"(?P<secret>[^\s\"'`]{8,})[\"'`]",
        _chosen,
    ),
    _rule(  # what stands beside a key that is known
        "api-key",
        "key]",
        r"\[redacted:[a-z-]{1,40}key\][\"'`,;:/ \t]{1,6}(?:\d{4}-\d\d-\d\dT[\w:.+-]{8,24}[ \t]{1,6}"
        r"|\w{3,20}[ :=]{1,3})?[\"']?"
        r"(?P<secret>[A-Za-z0-9+/=_-]{20,100})(?![\w+/=-])",
        lambda match: _opaque(match.group("secret")),
    ),
    _rule("twilio-key", "AC", r"AC[0-9a-f]{32}[\"', :]{1,6}(?P<secret>[0-9a-f]{32})(?![0-9a-f])"),
    _rule(
        "password",
        "identified |sp_addlogin|sp_password|password '",
        r"(?i)\b(?:identified\s{1,4}(?:with \w{1,40} )?by\s{1,4}(?:password |values )?|sp_(?:addlogin|"
        r"password) [^\s,]{1,64}, ?|with\s{1,4}(?:encrypted |login ){0,2}password (?='))"
        r"(?:\\{0,2}[\"'])?(?P<secret>(?<=[\"'])[^\"'\n\\]{4,}|[^\s\"'\\;,()<>]{4,})",
        lambda match: _only(match) if match.string[match.start("secret") - 1] in "\"'" else _chosen(match),
    ),
    _rule(
        "password",
        "requirepass|masterauth|community|securestring",
        r"(?:(?<!\w)(?:requirepass|masterauth|snmp-server community)[ \t]+[\"']?"
        r"|(?i:to-securestring(?:[ \t(]{1,3}(?:-(?:string|asplaintext|force)(?![a-z]))?){1,5})(?:\\?[\"'])?"
        r"|(?i:securestring[ \t(]{1,3})[\"'])"
        r"(?P<secret>[^\s\"'\\]{4,})",
        lambda match: _only(match) if "ecure" in match.group() else _chosen(match),
    ),
    _rule(
        "password",
        ":*:|:5432:|:5433:|:6432:",
        r"(?m)^[\w.*-]{1,100}:(?:[0-9]{4,5}|\*):(?:[\w.-]{1,64}|\*):(?:[\w.-]{1,64}|\*):"
        r"(?P<secret>\S{4,})$",
        _chosen,
    ),
    _rule(  # what is sent when a program asks
        "password",
        "assword",
        r"assword[^\n]{0,30}\n[^\n]{0,30}?send(?:line)?[ (](?:-- )?[\"'](?P<secret>[^\"'$\\\n]{4,64})",
        _chosen,
    ),
    _rule(
        "token",
        " pat |_pat |_pat:|_pat=| pat:| pat=",
        r"(?i)(?<=[ _])pat[ \t]{0,2}[:= ][ \t]{0,2}[\"']?(?P<secret>[A-Za-z0-9+/=_-]{24,})",
        _random,
    ),
    _rule(
        "url-password",
        "@tcp(|@unix(",
        r"(?<![\w.-])[\w.-]{1,64}:(?P<secret>[^\s@:\"']{4,64})@(?:tcp|unix)\(",
        _url_password,
    ),
    _rule(  # a user and a password as arguments, one beside the other
        "password",
        "|".join(f"{name}(" for name in (*_CALLS, "auth = ", "::new")),
        r"(?i)\((?:" + _ANY_CALL + r")"
        r"(?:[^\n()\"',]{0,60}(?:(?:\"[^\"\n]{0,100}\"|'[^'\n]{0,100}')(?:\.\w{1,12}\(\))?)?,\s{0,20}){1,3}"
        r"[\"'](?P<secret>[^\s\"']{6,})[\"'](?:\.\w{1,12}\(\))?[ \t]{0,2}[,)]",
        _chosen,
    ),
    _rule(  # the key of an account, as an argument
        "api-key",
        "client(|algoliasearch(",
        r"(?i)(?:client|algoliasearch)\((?:[\"']?[\w.:/-]{1,80}[\"']?,[ \t]?)?[\"']"
        r"(?P<secret>[\w-]{24,100})[\"']",
        lambda match: _opaque(match.group("secret")),
    ),
    _rule(  # the key of a cipher or of a signature, as an argument
        "api-key",
        "hmac|fernet|aes|cipher|keyspec|securitykey|signwith|from_slice",
        r"(?i)(?:hmac(?:sha\d+)?(?:\.new)?|fernet|aes(?:\.new)?|cipher(?:iv)?|keyspec|securitykey|signwith|"
        r"from_slice)\("
        r"(?:[\"'][\w-]{1,20}[\"'],[ \t]?|[\w.]{1,40}(?:\(|,[ \t]?))?b?[\"'](?P<secret>[^\s\"']{8,})[\"']",
        _chosen,
    ),
    _rule(
        "cookie",
        "sid=|sessionid=|session=|session_id=|session-id=",
        r"(?i)(?<![a-z])(?:phpsessid|jsessionid|connect\.sid|asp\.net_sessionid|[a-z]+[_-]session"
        r"|session(?:[_-]?id)?|sid)=(?P<secret>[\w%.+/-]{16,})(?=[;\"'\s]|\Z)",
        lambda match: _random(match) and not _stands_in(match["secret"]),
    ),
    _rule(
        "cookie",
        "cookie",
        r"(?i)cookie[\"'\\]{0,3}[ \t]{0,2}[:=][ \t]{0,2}[\"'\\]{0,2}(?P<secret>[^\r\n\"'\\]{16,})",
        _cookies,
    ),
    _rule(
        "password-hash",
        "$",
        (
            r"\$(?:apr1|1|2[abxy]|5|6|7|y|argon2(?:id|i|d)|(?<=-256\$)\d{4,6}:[\w+/=]{16,40})\$\$?(?P"
            r"<secret>[A-Za-z0-9./$=,+-]{20,})"
        ),
    ),
    _rule(
        "password-hash",
        "{sha}|{ssha|{md5}",
        r"(?i)\{(?:S?SHA(?:256|512)?|MD5)\}(?P<secret>[A-Za-z0-9+/]{20,}={0,2})",
    ),
    _rule(
        "private-key",
        "Private-Lines:",
        r"Private-Lines: \d+\r?\n(?P<secret>[A-Za-z0-9+/=\s]{24,}(?:Private-MAC: [0-9a-f]+|(?=Private-)"
        r"|\Z))",
    ),
)

_NEEDS = {rule.needs for rule in _LINES}
_PLACE_OR_DIGEST = (
    r"(?i)(?:sha-?\d{0,3}|digest|checksum|integrity|token|cursor|id(?:-2)?|base64,|"
    r"sig\w*|DNSKEY[\d ]*|ssh-\w{3,7}|publickeys?)[\"']?[=:\s-]{0,24}[\"']?\Z"
)
_FUNCTION_WORD = (  # what a sentence has and no list of words
    r"(?i)(?<![a-z])(?:the|and|for|that|this|with|you|your|not|are|was|were|has|have|from|into|must|should"
    r"|will|can|cannot|but|all|any|its|when|then|than|they|there|which|been|does|least|characters|password"
    r"|field|reset)(?![a-z])"
)
_HARMLESS_NAME = (
    r"(?:\w*_)?(?:ID|IDS|UUID|GUID|SHA\d*|HASH|COMMIT|REV|REVISION|DIGEST|CHECKSUM|URL|URI|VERSION|PATH"
    r"|PUBLIC|PUB|ETAG|NONCE|IV|TRACE\w*|FINGERPRINT|BUILD|IMAGE|TAG|REF|MD5|HOST|DOMAIN|ADDR\w*|ADDRESS"
    r"|CONTRACT|TX|SID|BRANCH|FILE|DIR|NAME|REGION|CERT\w*|PUBKEY|PUBLIC_KEY|PUBLISHABLE_KEY|CLASSPATH|OPTS"
    r"|OPTIONS|FLAGS|ARGS|BASE64|OWNER)\Z"
)


_VARIABLE = (
    r"(?:(?<![\w$.-])(?P<name>[A-Z][A-Z0-9_]{2,60})[ \t]?=[ \t]?|\bset -\w{1,3} (?P<fish>["
    r"A-Z][A-Z0-9_]{2,60}) )[\"']?(?:[0-9a-f]{32,}:)?\Z"
)
_ROLE = (  # who a password belongs to, before a colon
    r"(?<![\w/.:@-])(?:deploy\w*|ci|bot|admin|root|user|svc|service"
    r"|api|me|oauth2?|git|aws|build|x-token-auth):\Z"
    r"|(?i:auth|creds?|credentials|users)[\"']?[ ]?[=:][ ]?(?:\{ ?)?"
    r"(?P<quote>[\"']?)[\w.@-]{1,40}[\"']?: ?[\"']?\Z"
)


# A call that takes a key.
_KEYED = (
    r"(?i)(?:sign|hmac|cipher|crypt|secret|from_slice|key|token|auth|\brun|login|\binit)\w{0,20}"
    r"\((?:[\w.\[\]]{1,30}\()?b?[\"']\Z"
)


def _introduced(value: str, line: str) -> bool:
    """Whether a key is set as a variable of the environment, whatever its name, or stands after a user."""
    role = _pattern(_ROLE).search(line)
    if role:
        if role["quote"] is not None or line[role.start() - 1 : role.start()] in ("'", '"', "`"):
            return _is_likely(value)
        return (
            _made_up(value)
            or (_jumbled(value) and _is_password(value))
            or bool(_pattern(_TITLED).match(value))
        )
    if _pattern(r"(?:0x)?[0-9a-f]{64}\Z").match(value) and _pattern(
        r"(?i)(?:key|wallet|account|signer)\([\"']\Z"
    ).search(line):
        return True  # as an argument
    if len(value) >= 16 and _jumbled(value) and _pattern(_KEYED).search(line):
        return True
    if _pattern(r"(?i)(?:session_?id|sessid)[\"']?[=:] ?[\"']?\Z").search(line):
        return len(value) >= 24 and _segment(value)
    variable = _pattern(_VARIABLE).search(line)
    if not variable:
        return False
    name = variable["name"] or variable["fish"]
    if _pattern(_HARMLESS_NAME).match(name) or "PUBLIC" in name or _pattern(_REFERENCE).match(value):
        return False
    grouped = _pattern(_GROUPED).match(value)
    return bool(grouped) or (_opaque(value) and len(value) >= 20) or _unguessable(value)


def _segment(value: str) -> bool:
    """Whether a part of the path of a webhook is what makes it secret."""
    several = _pattern(r"(?:[a-z]+\d+){4,}[a-z]*\Z").match(value) and len(value) >= 18
    return _opaque(value) or bool(several or _pattern(_UUID + r"\Z").match(value))


def _words(match: re.Match[str]) -> bool:
    """Whether words that follow `passphrase` are one, and no sentence about it."""
    value = match.group("secret")
    marked = match.string[match.start("secret") - 1] in "\"'`“=" or "-" in value
    several = len(_pattern(r"[ -]").findall(value)) >= (2 if marked else 3)
    named = _pattern(r"(?i)\b(?:key|secret|token|shared)\b").search(value)
    return several and not named and not _pattern(_FUNCTION_WORD).search(value)


_VAGUE = r"(?i)(?:auth|key|session|login)\Z"  # names of secrets and of much else
_PUBLIC = (  # what a key is that is none
    r"(?i)(?:public|publishable|pub|site|primary|foreign|partition|cache|sort|kms|row|hot|unique|index|object"
    r"|group|range|hash|storage|event|file|from|idempotency|websocket|host|known|rsa|ssh|gpg|pgp)[_ .-]?\Z"
)
_NO_SECRET = (  # a token that is a place in a list or marks a repetition, and what is public
    r"(?i)(?:next|page|continuation|sync|cursor|delta|resume|request|change|idempotency|dkim)[ _-]?tokens?\Z"
    r"|publi(?:c|sh\w*)[\w-]*\Z|(?i:hashed|sealed)[ _-]?\w+\Z"
    r"|(?:checksum|digest|sha\d{1,3}|hash)/\w+\Z"
)
_ABROAD = (  # what a password is called in other languages
    *(
        "contraseña contrasenya kennwort senha wachtwoord lösenord adgangskode passord kodeord hasło heslo "
        "jelszó lozinka salasana geheimnis geheim segreto segredo секрет şifre пароль пароля паролем парола "
        "parolă slaptažodis geslo mdp clave parola 密码 密碼 口令 パスワード パスコード 暗証番号 合言葉 "
        "비밀번호 비번 패스워드 패쓰워드 암호 시크릿 비밀키 인증키 पासवर्ड কূটশব্দ পাসওয়ার্ড סיסמה סיסמא "
        "รหัสผ่าน κωδικός κωδικό گذرواژه"
    ).split(),
    *("mật khẩu", "kata sandi", "كلمة المرور", "كلمة السر", "الرقم السري", "پاس ورڈ", "رمز عبور"),
)
_WORD_ABROAD = "|".join(
    word if len(word) > 6 or not word.isascii() else rf"(?<![a-z]){word}(?![a-z])" for word in _ABROAD
)
_WORDS = (  # in each name of a secret one of these stands, in folded text
    *"pass pwd pw p/w psk asword credential secret token auth key salt session".split(),
    *"login totp otp mfa pin".split(),
    *(word for word in _ABROAD if word.isascii() and word not in ("passord", "geheimnis")),
)
_KEYS = (  # the name from that word on
    r"pass(?:word|wd|phrase|wort|code|owrd|wrod|wrd)|(?<=p)asword|(?<=pa)asword|(?<!by)(?<!com)(?<!tres)"
    r"(?<!sur)(?<!und"
    r"er)(?<!over)(?<!bi)pass(?![a-z])|"
    rf"(?<=mot de )passe|pwd|"
    rf"{_WORD_ABROAD}|credentials?"
    r"|p/?w(?![a-z])|(?<=[._-])login(?=\W)|(?<![a-z])(?:psk|totp|otp|mfa|pin)(?![a-z])|totp seed|"
    r"secret[_-]?key(?:[_-]base)?|secret"
    r"|token|authorization|auth[_-]?(?:token|key)|(?<![a-z])auth(?![a-z])|(?<=client[_-])key[_-]data"
    r"|key(?![a-z_])|(?<=_)salt(?![a-z])|session(?![a-z_])"
)
_OF_SECRETS = (  # what stands before `key` if it is a secret
    r"(?i)(?:api|access|master|private|account|encryption|signing|auth|master|license|pre[_-]?shared|shared"
    r"|admin|client|jwt|app|session|hmac|service|deploy)[_ -]?\Z"
)
_VALUE = (
    r"(?:\\\"(?P<escaped>[^\"\\\n]{4,2000})\\\"|(?:[bruN@]{0,2}|f(?=[\"'][^\"'{}\n]{4,200}[\"']))"
    r"(?:\"(?:\"\")?(?P<double>[^\"\n]{4,2000})\""
    r"|'(?P<single>[^'\n]{4,2000})'|`(?P<tick>[^`\n]{4,2000})`)"
)
_WORD_OF_VALUE = r"[^\s\"'`,;<>(){}\[\]&|\\\u3001-\u30ff\u4e00-\u9fff\uac00-\ud7a3]"
_BARE = (
    r"|(?P<bare>" + _WORD_OF_VALUE + r"{6,100})(?<![.:!?]))"
)  # judged by 100 characters, which bounds the work
_CUT_OFF = _WORD_OF_VALUE + "{100}"
_ABOUT_PARTS = (  # what makes the name of a secret a word about secrets
    r"(?:polic|less|len|min|max|rule|strength|field|reset|hash|digest|count|budget|limit|type|usage|cost|"
    r"expir"
    r"|lifetime|ttl|ids?\b|accessor|rotator|size|name|version|manager|store|scan|rotation|format|header|bucket|program"
    r"|endpoint|ur[il]|service|file|path|column|table|prefix|ref|class|algo|method|mode|alias|pattern|regex"
    r"|valid|enabled|required|status|state|page|host|port|user|pair|map|set|list|s\b|encr|chang|creat|updat"
    r"|question|at\b|on\b|date|time|min|sec|back|command|last|attempt|hint|stdin|audien|issue|realm|scope|"
    r"rate|fail|thr|ing|e[sd]|band|port)"
)
_ABOUT = r"[ _-](?!(?<= )(?:at|on) )" + _ABOUT_PARTS
_TAIL = (  # of an identifier that begins with the name of a secret
    rf"(?:[_-](?!(?i:{_ABOUT_PARTS}))[A-Za-z0-9]{{1,20}}"
    rf"|(?=[A-Z])(?!(?i:{_ABOUT_PARTS}|key|token|pass|secret))[A-Z][a-z]{{1,15}}"
    rf"|(?<=[pP]assword)(?!{_ABOUT_PARTS})[a-z]{{2,10}}(?![a-z])|(?<=apikey)(?!{_ABOUT_PARTS})[a-z]{{2,10}}(?![a-z])"
    r"|(?<=[A-Za-z])(?:\d{1,3}|s)(?![A-Za-z0-9])){1,5}"
)
_LOOKED_UP = (  # a look-up of the environment whose default is the value
    r"(?:[\w.:]{2,40}(?:\([ ]?\\?[\"'][\w.-]{1,60}\\?[\"']"
    r"(?:,[ ]?(?:default=)?|\)[ ]?(?:\|\||\?\?|or|\?:)[ ]?)"
    r"|(?:\.[A-Z_0-9]{1,60}|\[[\"'][\w.-]{1,60}[\"']\])[ ]?(?:\|\||\?\?|or)[ ]?)(?=\\?[\"'`]))?"
)
_ELEMENT = (  # the content of an element, the other attribute of its tag, the element after it
    r"(?:[ \t][^<>\n]{0,80})?>\s{0,40}(?:<!\[CDATA\[\s{0,9}|\{(?:\w{1,30}[ ]){0,2})?"
    r"(?P<element>[^\s<]{6,400}?)(?:\]\]>)?\s{0,40}(?=</)"
    r"|[\"']?(?:[ \t][^<>\n]{0,80}?)?[ \t]value=[\"'](?P<attribute>[^\"'\n]{4,400})[\"']"
    r"|(?:(?!\w{0,12}(?:I[dD]|Name|Ur[li]|Path|File|Type)\b)[\w.-]{0,20}(?:[ \t][^<>\n]{0,80})?>"
    r"(?!@[\w.-]+[:/])"
    r"|[\"'][^<>\n]{0,80}>\s{0,20}(?:<(?:\w{1,20}[:-])?(?:value|string)>)?"
    r"|</[\w:-]{1,40}>\s{0,20}<(?:\w{1,20}[:-])?(?:value|string)>"
    r"|>\s{1,20}<value>)" + _VALUE + r"|(?P<bare>[^\s\"'`,<>{}]{6,100}))",
    _beside,
    True,
)
_USER_AND = (  # before the name of a password that a user and a password follow
    r"(?i)(?<![a-z0-9])(?:id|user(?:[ _-]?(?:name|id))?|login|account|mail"
    r"|계정|아이디|账号|用户名|ユーザー名?|логин)"
    r"[)\]]?(?:[ ]?[/&,|+、][ ]?|[ ])\Z"
)
_EARLIER = (  # a value whose name follows: `value="..." name="password"`
    r"[vV]alue[\"']?[ ]?[:=][ ]?(?P<quote>[\"'])(?P<secret>[^\"'\n]{4,100})(?P=quote),?\s{1,20}"
    r"[\"']?(?:name|key|Name|Key)[\"']?[ ]?[:=][ ]?[\"'][\w.-]{0,40}\Z"
)
_JOINTS = (" ", "/", "&", ",", "|", "+", "、")
_FLAG = r"(?<!\S)--?[\w-]*\Z"
_PAIR = (  # `ID/PW: anna/...`, `(ID&PWD) anna(...)`, `id pw 10.0.0.1 anna ...`
    r"(?i)(?:[/,](?:ip|port|host))?(?:[ ]for[ ][\w.-]{1,30})?[)\]]?[ ]{0,2}(?:->|[:=-]{0,2})[ ]{0,2}"
    r"[(\[\"'`]?(?:[^\s/]{1,60}/\[redacted:password\],[ ]?|(?:\d{1,3}\.){3}\d{1,3}[ ])?"
    r"(?:[\w.-]{1,20}:)?[\w.@-]{1,40}[ ]?(?://|[/(:,| ])[ ]?[\"'`]?"
    r"(?P<secret>[^\s\"'`()/|,:]{6,64})(?![^\s\"'`()/|,:])",
    lambda key, before, match: _chosen(match),
    False,
)
_ARGUMENT = (_GAP + r"(?P<sign>=[ \t])?" + _VALUE + _BARE, _assigned, True)  # of a flag that is named so
_PLAIN_TAIL = r"(?:[_-][A-Za-z0-9]{1,12}){0,2}\d{0,3}\Z"
_SIGN = r"[^\w\s\"'/\\+@$%&{}]"  # that people put between a name and its value
# What may stand between a name and its value, the value, whether that is a secret, and whether the rest of
# the identifier, if there is one, has gone before.
_FOLLOWS = (
    (
        r"(?:[ \t]{0,3}:[ \t]{0,2}(?:&|[A-Za-z_])[\w.\[\]|&' ]{0,40}=[ \t]{0,3}"
        r"(?=[\"'`])"  # a type between name and value
        r"|(?:\[\])?[\\\"'`\])*]{0,4}(?: is)?"  # the quote of the key
        r"(?:[ \t]{0,40}(?P<sign>=>|:{0,3}=|<-|(?<=[ \t])->|\?\?=?|\?=|\|\||!?={1,3}|[:\uff1a])"
        r"[*]{0,2}[ \t]{0,8}" + _LOOKED_UP + r"(?:[&!]\w{1,20}[ \t]{1,4}|\([ \t]{0,4}\n[ \t]{0,20})?"
        r"|[ \t](?:string|String)[ \t]=[ \t]|[ \t]\{[ \t]get;[^{}\n]{0,40}\}[ \t]=[ \t])"
        r")(?:0x)?" + _VALUE + _BARE,
        _assigned,
        True,
    ),
    (  # a value that is handed to a constructor, or read from a block of text
        r"[\"'\]]{0,2}[ \t]{0,3}[:=][^\n\"'(]{0,40}(?<![\w])(?:String::from|new String|(?:\w{0,20}\.)"
        r"?(?:SecretStr|b64decode)"
        r"|Buffer\.from|str"
        r"|Secret|\[\]byte|bytes)\([\"'](?P<secret>[^\"'\n]{6,})[\"']"
        r"|(?:str)?\([\"'](?P<argument>[^\"'\n]{6,})[\"']\)"
        r"|(?::[ \t]{0,3}(?:!\w{1,20}[ \t])?[|>][-+]?[ \t]*\n[ \t]|"
        r"[ \t]{0,3}=[ \t]{0,3}<<[-~]?[\"']?\w{1,20}[\"']?[ \t]*\n)[ \t]*(?P<block>\S{6,200})["
        r" \t]*(?:\n|\Z)"
        r"|[ \t]{0,2}:[ \t]*\n\s{0,4}(?P<line>[^\s:]{8,200})[ \t]*(?:\n|\Z)",
        _beside,
        False,
    ),
    (  # the next argument, the next cell, the value of the same entry
        r"(?:[\"']?[ \t]{0,2},?[ \t]{0,2}(?:\r?\n[ \t]{0,20})?[\"']?value[\"']?[ \t]{0,2}:[ \t]{0,4}"
        r"|\\?[\"'][ \t]{0,2},[ \t]{0,16}(?=[bru]?\\?[\"'`])|,[ \t](?=\")"
        r"|[,;](?=[^\s,;\"'(){}]{6,200}(?:[,;\s]|\Z))|\]?[\"'`]\){1,2}\.\w{2,16}\((?=[\"'])"
        r"|[\"'\]]{0,2}[ ]?[:=][ ]?[\[({]\s{0,20}(?:[\"']\[redacted:[a-z-]{1,20}\][\"'],\s{0,20}){0,9}"
        r"(?=[\"'])"
        r"|[\"']\)[ ]?\{[ ]?(?=[\"'])|\.(?:equals\w{0,12}|compareTo)\((?=[\"'])"
        r"|[\"']\r?\n\r?\n|[*`]{0,4}[ \t]{1,6}\|[ \t]{1,4}"
        r"|[\"'][ \t]{0,2}\{[^{}]{0,300}?\bdefault[ \t]{0,8}=[ \t]{0,4}|[^\S\n]?=%[sv][\"'],[ ]"
        r"|[ ]?\{[ ]?[Vv]alue[ ]?=[ ])" + _VALUE + r"|(?P<bare>[^\s\"'`,<>{}]{6,100}))",
        _beside,
        True,
    ),
    (  # the next word, or the word after `is`, as people and commands say it
        r"(?:(?:(?: is)? (?:for|FOR|of|to|on|at|in|from|generated|combination|you|we|they|i|he|she|it|that"
        r"|which)(?: [\w@.'/-]{1,30}){0,6}?(?:,? (?:is|was|are|it's)(?=[ (])|[ \t]{0,2}[:=?](?!/))"
        r"|[,(] ?(?:default|initial|temporary|temp|new|old|current) ?[:=]|[ ]?\([\w .@-]{1,30}\)[ ]?[:=]?"
        r"|\[[\"']?\w{1,30}[\"']?\][ ]?=)[ \t(\[<「『【]{0,4}"
        r"|(?:(?:(?: (?:is|was|are|to|(?:used to|will|should|must) be|has been"
        r"|ist|war|lautet|est|es|é|è|là|to|jest|adalah|है|هي|became))?"
        r"(?: now| still| (?:re)?set to| changed(?: to)?| jetzt)?|'s):?"
        r"|[ \t]{0,2}[:=?])?[ \t(]{1,4}(?:[0-9] )?"
        r"|[\uac00-\ud7a3\u3040-\u30ff\u4e00-\u9fff]{1,6}[ \t]{0,2}[:\uff1a=]?[ \t]{0,2}"
        rf"|(?P<loose>[ \t]{{1,2}}{_SIGN}{{1,4}}[ \t*_`]{{0,4}}|{_SIGN}{{1,4}}[ \t*_`]{{1,4}}"
        rf"|(?![-.,#]){_SIGN}{{1,4}}"
        r"|[ \t]{0,2}[:=]?[ \t]{0,2}(?:</?\w{1,10}>\s{0,9}|\{[\w:#]{1,20}\}){1,3}))" + _VALUE + _BARE,
        _beside,
        False,
    ),
)


def redact(text: str) -> tuple[str, int]:
    """Take secrets and private parts out of a text, and count them.

    A secret becomes `[redacted:<kind>]`, e.g. `[redacted:aws-access-key]`; `<private>...</private>`, closed
    or not, is removed. Redacting twice changes nothing more.
    """
    count = 0
    for _ in range(MAX_PASSES):
        left, more = _once(text)
        if not more:
            break
        text, again = _without_repeated(text, left)
        count += more + again
    return text, count


def _once(text: str) -> tuple[str, int]:
    count, folded = 0, _folded(text)
    if "<private" in folded:
        text, count = _without_private(text)
        folded = _folded(text)
    if "private key" in folded or "static key" in folded:
        text, more = _without_key_blocks(text)
        count, folded = count + more, _folded(text)
    long = " ".join(_pattern(_LONG_WORD).findall(" ".join(word for word in text.split() if len(word) >= 16)))
    for rule in _TOKENS:
        if any(literal in long for literal in rule.literals) and _pattern(rule.pattern).search(long):
            text, more = _replace(rule, text, text)
            count, folded = count + more, _folded(text) if more else folded
    lacks = {needs for needs in _NEEDS if needs not in folded}
    for rule in _LINES:
        if rule.needs not in lacks and any(
            literal in (folded if literal.islower() else text) for literal in rule.literals
        ):
            text, more = _replace(rule, text, folded)
            count, folded = count + more, _folded(text) if more else folded
    text, more = _without_values(text)
    count += more
    text, more = _without_codes(text)
    count += more
    text, more = _without_cells(text)
    count += more
    text, more = _without_listed(text)
    text, left = _without_strong(text)
    return text, count + more + left


def _without_repeated(before: str, after: str) -> tuple[str, int]:
    """Replace what was taken out at one place and stands at another, where nothing announces it."""
    words = [
        word
        for word in _numbered_words(after)
        if len(word.group()) >= 8 and (_is_likely(word.group()) or _opaque(word.group()))
    ]
    if not words:
        return after, 0
    left = Counter(word.group() for word in words)
    if "<private" in before.lower():
        before = _without_private(before)[0]  # what is private need not be secret
    stood = Counter(word.group() for word in _numbered_words(before) if word.group() in left)
    parts: list[str] = []
    count = end = 0
    for word in words:
        if stood[word.group()] > left[word.group()]:
            parts.append(f"{after[end : word.start()]}[redacted:secret]")
            count, end = count + 1, word.end()
    return "".join(parts) + after[end:], count


def _replace(rule: _Rule, text: str, folded: str) -> tuple[str, int]:
    """Replace what a rule finds; `folded` is where its literals in lower case are searched."""
    count = 0

    def placeholder(match: re.Match[str]) -> str:
        nonlocal count
        if not rule.is_genuine(match):
            return match.group()
        name = "secret" if "secret" in match.re.groupindex else 0
        value = match.group(name)
        done = "[redacted:" in match.string[max(0, match.start(name) - 10) : match.end(name)]
        if done or value[-12:].lower() == "x" * 12:
            return match.group()  # done before, or the form of a token rather than one
        count += 1
        before = match.string[match.start() : match.start(name)]
        after = match.string[match.end(name) : match.end()]
        return f"{before}[redacted:{rule.kind}]{after}"

    pattern = _pattern(rule.pattern)
    if len(text) <= _WINDOW:
        return pattern.sub(placeholder, text), count
    parts: list[str] = []
    end = 0
    where = [(literal, folded if literal.islower() else text) for literal in rule.literals]
    for match in _matches(pattern, text, where):
        parts += text[end : match.start()], placeholder(match)
        end = match.end()
    return "".join(parts) + text[end:], count


def _matches(
    pattern: re.Pattern[str], text: str, literals: Sequence[tuple[str, str]]
) -> Iterator[re.Match[str]]:
    """Find what `finditer` finds, in windows: it lets no other thread run until it has found something.

    A window without any of the literals, each with the text to search it in, is passed over.
    """
    end = 0
    while end < len(text):
        start, end = end, end + _WINDOW
        edge = end + _BEYOND
        if not any(where.find(literal, max(0, start - 200), edge) >= 0 for literal, where in literals):
            continue
        for match in pattern.finditer(text, start, edge):
            if match.start() >= end:
                break
            whole = pattern.match(text, match.start()) if match.end() == edge else match
            if whole:
                yield whole
                end = max(end, whole.end())


def _without_values(text: str) -> tuple[str, int]:
    """Replace what stands beside a name such as `password` or `api_key`."""
    folded = _folded(text)
    parts: list[str] = []
    count = end = seen = 0
    for place in _places(_WORDS if folded.isascii() else (*_WORDS, *_ABROAD), folded):
        name = _pattern(_KEYS).match(folded, place) if place >= max(end, seen) else None
        before = text[max(0, place - 24) : place]
        if name is None or ("[redacted:" in before and _pattern(r"\[redacted:[a-z0-9-]*\Z").search(before)):
            continue  # a placeholder names a kind of secret, which is no key
        key = text[place : name.end()]
        if _pattern(_NO_SECRET).search(before + name.group()):
            continue
        around = text[max(0, place - 160) : place]
        if "alue" in around:
            earlier = _pattern(_EARLIER).search(around)
            start = max(0, place - 160) + (earlier.start("secret") if earlier else 0)
            named = earlier and _of_element(_kind(key), earlier["secret"]) and not _vague(key, before)
            if earlier and named and start >= end:
                parts.append(f"{text[end:start]}[redacted:{_kind(key)}]")
                count, end = count + 1, start + len(earlier["secret"])
                continue
        tail = _pattern(_TAIL).match(text, name.end())
        ends = tail.end() if tail else name.end()
        plain = not tail or _pattern(_PLAIN_TAIL).match(tail.group())
        first = []
        if "<" in around:
            first.append(_ELEMENT)
        if before.endswith(_JOINTS) and _kind(key) == "password" and _pattern(_USER_AND).search(before):
            first.append(_PAIR)
        elif "-" in before and text[ends : ends + 1] in (" ", "\t", "\\") and _pattern(_FLAG).search(before):
            first.append(_ARGUMENT)
        for follows, is_genuine, of_identifier in (*first, *_FOLLOWS):
            match = _pattern(follows).match(text, ends if of_identifier else name.end())
            if match and (is_genuine if plain else _beside)(key, before, match):
                group = _group(match)
                parts.append(f"{text[end : match.start(group)]}[redacted:{_kind(key)}]")
                count, end = count + 1, match.end(group)
                if group == "bare" and _pattern(_CUT_OFF).match(text, match.start("bare")):
                    rest = _pattern(_WORD_OF_VALUE + r"*(?<![.:!?])").match(text, end)
                    end = rest.end() if rest else end
                break
            if match and "sign" in match.re.groupindex and match["bare"] and not _called(match):
                if _pattern(_CUT_OFF).match(text, match.start("bare")):
                    seen = match.end()  # names without end would cost seconds
                break  # the name has a value, which is no secret
    return "".join(parts) + text[end:], count


def _folded(text: str) -> str:
    return text.replace("İ", "I").lower()  # the one letter whose small form has another length


def _places(words: Sequence[str], folded: str, start: int = 0, end: int | None = None) -> list[int]:
    """Where these words begin in a text or a part of it, in order."""
    places = []
    for word in words:
        place = folded.find(word, start, end)
        while place >= 0:
            places.append(place)
            place = folded.find(word, place + len(word), end)
    return sorted(places)


_STEMS = (
    *"pass pw pin secret token key cred code auth data senha contrase пароль 密码".split(),
    "openssl rand",
)
_HEAD = (  # of a column whose cells are secrets
    r"(?i)[\W_]*(?:[\w-]{1,20}[ _.-])?(?:pass(?:word|wd|phrase|code)?"
    r"|pwd?|pin|secret|token|(?:api|access|private|secret)[ _-]?key"
    r"|credentials?|passwort|contraseña|senha|mot de passe|пароль|密码|(?P<vague>key|value))[\W_]*\Z"
)
_PARENT = (  # of lines that are secrets, or that name them
    r"(?i)[^\n]{0,100}(?:secrets?|tokens?|credentials?|passwords?|codes?"
    r"|(?:api|access|private|secret)[ _-]?keys?|auth|(?P<data>(?<!meta)data))[\"'*]{0,3}"
    r"(?: (?:for|of) [^\n:=]{1,80})?(?: (?:are|is|were)(?: now)?)?[ \t]?[:=][ \t]?[|>{\[]?-?\Z"
)
_PROMPTED = (  # a command that shows a secret
    r"(?i)[ \t]*(?:[\w@:~.-]{0,40} ?[$\u276f]|[\w@:~.-]{1,40}[%#>]|>) (?!git|docker|kubectl get pods"
    r"|ls|sha|md5|grep|rg|find|cd|gpg|ssh-add|openssl dgst|[^\n]*(?:list|describe|keyid))[^\n]{0,200}"
    r"(?:pass|secret|token|credential|genkey|genpsk|pwgen|openssl rand|mkpasswd|apg|\bkey|\bauth\.)"
)
_BASE64_VALUE = r"(?:[A-Za-z0-9+/]{4}){2,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\Z"
_PASSWORDS = r"(?i)(?:passw(?:or)?ds?|credentials?)[\"'*]{0,3}[ ]?[:=]"
_CHILD = (
    r"[\s*>\"'`-]*(?:\d{1,2}[.)][ \t])?(?:(?P<name>[\w./-]{1,60})[\"']?[ \t]{0,3}[:=][ \t]"
    r"{0,3})?[\"'`]?(?P<secret>[^\s\"'`]{5,4000}[^\s\"'`,])[\"'`]?,?[ \t]*\Z"
)


_CODE = r"(?:(?=[a-z-]*\d)[a-z0-9]{4,6}-[a-z0-9]{4,6}|\d{4,10})"
_CODES = (
    r"(?:(?<![a-z])(?:pins?|otp|puk|2fa|mfa)|(?<=pass)code|(?:(?<=backup )|(?<=recovery )|(?<=security )"
    r"|(?<=time )|(?<=2fa )|(?<=otp )|(?<=mfa )|(?<=sms )|(?<=unlock )|(?<=access )|(?<=entry )|(?<=door )"
    r"|(?<=alarm )|(?<=gate )|(?<=verification )|(?<=pairing )|(?<=login )|(?<=confirmation )|(?<=reset )"
    r"|(?<=auth ))codes?|(?<=time )password)(?![a-z])(?:(?: [\w'@./:-]{1,60}){0,6}?(?:[ ,]{0,2}(?:is|are|was"
    r"|were|it's|[:=])){1,2}|)[ :=\"'`?-]{1,6}"
    rf"(?P<secret>{_CODE}(?:,? (?:and )?{_CODE})*)\b"
    r"(?![.-]\d|[ -]?(?:bit"
    r"|digit|char|ms|s\b)| [a-z]{2,12}s\b)"
)


def _without_codes(text: str) -> tuple[str, int]:
    """Replace digits that a PIN, or a code by which somebody gets in, is said to be."""
    folded = _folded(text)
    parts: list[str] = []
    count = end = 0
    for place in _places(("pin", "code", "otp", "puk", "2fa", "mfa", "time password"), folded):
        start = place + 5 if folded.startswith("time ", place) else place
        match = _pattern(_CODES).match(folded, start) if start >= end else None
        if match:
            parts.append(f"{text[end : match.start('secret')]}[redacted:password]")
            count, end = count + 1, match.end("secret")
    return "".join(parts) + text[end:], count


def _without_cells(text: str) -> tuple[str, int]:
    """Replace secrets in the cells below the head of their column, and in the lines below their name."""
    folded = _folded(text)
    stems = [stem for stem in _STEMS if stem in folded]
    if not stems:
        return text, 0
    manifest = bool(_pattern(r"kind[\"']?: ?[\"']?secret\b").search(folded))
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    naming = {bisect_right(starts, place) - 1 for place in _places(stems, folded)}
    count, cells = 0, _NO_CELLS
    # The depth of the name that the lines below it belong to; whether it is a command, or names passwords.
    depth, prompted, passwords = -1, False, False
    done = 0
    for first in sorted(naming):
        if first < done:
            continue
        for number in range(first, len(lines)):
            done = number + 1
            line, named = lines[number], number in naming
            found = cells.secrets(line) if cells.columns else None
            if found is None:
                cells = _heads(line) if named else _NO_CELLS
                bare = line.strip()
                inside = len(line) - len(line.lstrip())
                if depth >= 0 and bare and (inside > depth or (inside == depth and ":" not in line)):
                    child = _pattern(_CHILD).match(line)
                    if child and _of_parent(child, manifest, prompted, passwords):
                        found = [child.span("secret")]
                elif bare or (depth == 0 and number != first + 1):  # a blank line may follow the name
                    depth = -1
                if depth < 0 and named and _is_parent(line.rstrip(), manifest):
                    depth, prompted = inside, bool(_pattern(_PROMPTED).match(line))
                    passwords = not prompted and bool(_pattern(_PASSWORDS).search(line))
            for start, end in reversed(found or []):
                lines[number] = line = f"{line[:start]}[redacted:secret]{line[end:]}"
                count += 1
            if depth < 0 and not cells.columns:
                break
    return "\n".join(lines) if count else text, count


def _is_parent(line: str, manifest: bool) -> bool:
    """Whether the lines below are secrets: this line names them, or is a command that shows one."""
    if len(line) < 200 and _pattern(r"(?i).*\b(?:recovery|backup|scratch|2fa)[ -]codes\b").match(line):
        return True
    if line.endswith((":", "{", "[", "|", ">", "|-", "=")) and len(line) < 200:
        parent = _pattern(_PARENT).match(line)
        return parent is not None and (manifest or not parent["data"])
    return bool(_pattern(_PROMPTED).match(line))


def _without_listed(text: str) -> tuple[str, int]:
    """Replace the values of columns that a statement names in parentheses before them."""
    if "values" not in text.lower():
        return text, 0
    parts: list[str] = []
    count = end = 0
    for names in _pattern(r"(?i)\((?P<names>[^()\n]{3,400})\)\s{1,20}values\s{0,20}").finditer(text):
        table = _heads(names["names"])
        row = _pattern(r"\(([^\n]{1,2000}?)\)[,;\s]").match(text + " ", names.end())
        while table.columns and row:
            for start, stop in table.secrets(row[1]) or []:
                parts.append(f"{text[end : row.start(1) + start]}[redacted:secret]")
                count, end = count + 1, row.start(1) + stop
            row = _pattern(r"[,\s]{0,20}\(([^\n]{1,2000}?)\)[,;\s]").match(text + " ", row.end())
    return "".join(parts) + text[end:], count


class _Cells(namedtuple("_Cells", "width separator columns")):
    """The columns of a table that hold secrets: the place of each, and whether its values must be keys."""

    def secrets(self, line: str) -> list[tuple[int, int]] | None:
        """Where secrets stand in a row; None if the line is no row of the table."""
        if not line.strip(" |+-:=\t"):
            return [] if line.strip() else None
        spans = _cells(line, self.separator)
        if len(spans) != self.width:
            return None
        found = []
        for at, vague in self.columns:
            start, end = spans[at]
            if _listed(line[start:end], vague):
                found.append((start, end))
        return found


_NO_CELLS = _Cells(0, "", [])


def _heads(line: str) -> _Cells:
    """The columns of secrets that a line names, if it is the first of a table."""
    if len(line) > 400:
        return _NO_CELLS
    for separator in ("|", "\t", ";", ",", "  "):
        if separator not in line:
            continue
        spans = _cells(line, separator)
        heads = [line[start:end] for start, end in spans]
        if len(heads) < 2 or not all(0 < len(head) <= 40 for head in heads):
            continue
        named = [(at, _pattern(_HEAD).match(head)) for at, head in enumerate(heads)]
        columns = [(at, bool(name["vague"])) for at, name in named if name]
        if columns:
            return _Cells(len(spans), separator, columns)
    return _NO_CELLS


def _cells(line: str, separator: str) -> list[tuple[int, int]]:
    """Where the cells of a line stand, without their quotes and blanks."""
    found = []
    pattern = (
        r"[^ \t]+(?:[ \t][^ \t]+)*"
        if separator == "  "
        else f"[^{re.escape(separator)}]+"
        if separator == "|"
        else f"(?:^|(?<={separator}))[^{separator}]*"
    )
    for cell in _pattern(pattern).finditer(line):
        value = cell.group()
        stripped = value.strip(" \t\"'`*()")
        start = cell.start() + value.find(stripped)
        found.append((start, start + len(stripped)))
    return found


def _listed(value: str, vague: bool = False) -> bool:
    """Whether a cell, or a line below the name of secrets, is one of them."""
    if " " in value or len(value) < 6 or "[redacted:" in value or _stands_in(value):
        return False
    if _pattern(rf"{_REFERENCE}|.*(?:[:;]|\((?![\"']))|(?:[a-z-]{{3,}}/){{2}}").match(value):
        return False
    return (
        _made_up(value)
        or _opaque(value)
        or (not vague and (_jumbled(value) or _gibberish(value) or (_is_password(value) and _firm(value))))
    )


def _of_parent(child: re.Match[str], manifest: bool, prompted: bool, passwords: bool) -> bool:
    """Whether a line below the name of secrets is one, or gives one its name."""
    name, value = child["name"], child["secret"]
    if name and _pattern(
        r"(?i)\w*(?:id|name|arn|sha\d*|hash|digest|integrity|checksum|type|realm|role|url|host|path|file|"
        r"version|image|provider)\Z"
    ).match(name):
        return False
    base64 = manifest and _pattern(_BASE64_VALUE).match(value)
    groups = value.split("-")
    grouped = (
        not name
        and 1 < len(groups) < 9
        and len(set(map(len, groups))) == 1
        and _pattern(r"(?=.*\d)[a-z0-9-]{9,}\Z").match(value)
    )
    shown = (
        prompted
        and not name
        and len(value) >= 8
        and (
            ("/" not in value and (_is_password(value) or _jumbled(value)))
            or _pattern(r"[A-Za-z0-9+/]{43}=\Z").match(value)
        )
    )
    if base64 or grouped or shown:
        return True
    long = _pattern(r"[A-Za-z0-9]{16,}\Z") if name is None else _pattern(r"(?!)")
    key = (
        _pattern(r"[0-9a-f]{32,}\Z").match(value)
        or _unguessable(value)
        or (long.match(value) and _jumbled(value))
    )
    return (
        _made_up(value)
        or bool(key)
        or (passwords and (_short(value) or _gibberish(value) or _jumbled(value)) and not _stands_in(value))
        or (bool(name) and sum(map(str.isdigit, value)) >= 2 and _listed(value))
    )


_CUES = (
    *(
        "pass pw psk pin cred auth secret token api key bearer otp 2fa mfa wifi wi-fi login sudo crypt "
        "superuser ask prompt user account admin root cookie basic shared mailbox code puk sign serializer "
        "salt zugang identifiants clave senha contrase kennwort wachtwoord heslo adgangskode lozinka parola "
        "salasana chiave sleutel jeton gettone mdp community"
    ).split(),
    *("eap ", "log in", "logging in", "logged in", "ssh ", " -p", " /p:", " -u "),
)
_CUES_ABROAD = (
    *(word for word in _ABROAD if not word.isascii()),
    *"schlüssel clé парол ключ токен 密钥 密鑰 令牌 トークン 暗証 鍵 キー 토큰 κωδικ סיסמ كلمة رمز".split(),
)
_ACCOUNTS_ABROAD = "계정 로그인 접속 账号 登录 логин ログイン".split()
_NAMES_IT = (  # a word that names a secret, as people say it
    r"passw\w*|pass[- ]?(?:phrase|code)s?|(?<!by)(?<!com)passe?(?![a-z])|(?<=root)pw(?![a-z])"
    r"|(?<![a-z])(?:pwd?|psk|pins?|creds?|otp|2fa|mfa|puk)(?![a-z])|keys?(?= (?:is|are|was) )"
    r"|keys?(?=:? [0-9a-f]{32})|secrets?(?![a-z])|tokens?(?![a-z])|credentials?|bearer|clave|senha"
    r"|contrase\w+|kennwort|wachtwoord|heslo|adgangskode|lozinka|parola|salasana|chiave|sleutel|mdp(?![a-z])"
    r"|jeton|gettone|community(?= string)"
)
_SPEAKS_OF_IT = (  # a word that speaks of secrets, or a flag that takes one
    r"(?<![a-z])(?:auth|log(?:ging|ged)?[ -]?in|sign(?:ing|ed|er)?(?:[ -]?in)?"
    r"|sudo|wi-?fi|superuser|zugang\w*|identifiants"
    r"|keys?|asks?|prompt|users?|username|accounts?|admin|root|cookies?|basic|shared|mailbox|salt)(?![a-z])"
    r"|secret|token|crypt|serializer|(?<= )eap | -p[ \tw]| /p:| -u |(?<![a-z])ssh |authenticat"
)
_LINK = (  # what leads from the name of a secret to the secret
    r"(?:(?<![\w'])(?:is|are|was|be|become|then|and|string|c'est|a|to|from|with|it'?s|says|type|enter|auf|zu"
    r"|sur|en|answer|use|using|será|sera|wird|lautet|ist|es|est|é|è|jest|je|är|er|на|это|adalah)(?: now"
    r"| still| set to)?|->|=>| /(?= )|[:=\uff1a→—\u2013|\])]|[은는是为為はがを])[\s\"'`“„«\u2018「『(*<]*\Z"
)
_HANDED = r"(?: /| with| and|,) [\"'`]?\Z"  # what follows the name of a user
_HARMLESS = (  # what else a hexadecimal or random word may be: the nearest name says
    r"(?:(?:sha-?\d*|md5|commits?|rev(?:ision)?s?|digest|checksum|hash(?:e[sd])?|integrity|etag|fingerprint"
    r"|trace|span|request|run|build|job|order|ticket|issue|version|address|contract|tx|transaction|public"
    r"|nonce|iv|blob|tree|image|layer|program|mint|container|cursor|offset|file|path|branch|tag|ref|head|id"
    r"|kid|uuid|guid|sid|thumbprint|identifier|p256dh|(?:next|page|continuation|sync|cursor"
    r"|delta)[ _-]?(?:page)?[ _-]?token|serial(?:[ _-]?number)?|object|wallet|accessor|name|h1"
    r"|pub[_-]?key\w{0,4}|recv-keys?|peer|idempotency[_-]key)(?:(?<=[gu]uid)|(?<![a-z][a-z](?:id|iv|tx)))"
    r"(?: (?:is|was|of|at|in))?[\s\"'`:=#(@/.,*|-]{0,20}|0x)\Z"
)
_DIGESTED = (
    r"commit|refs/|stash@|sha-?\d|digest|checksum|revision|fingerprint|\bgit |publi(?:c|sh)|message-id"
    r"|\[\$latest\]|data:(?:image|font)/|[\"']jti|[\"']s[iu][db]|address|contract|program"
    r"|mint\b|enc\[|\brsa |\bgpg|sum\b|dgst|[\"']kty"
)
_IDENTIFIED = r"[a-z](?:Id|ID|UUID|Sha256|Hash|Version|Digest)[\"']?[=:][ ]?[\"']?\Z"
_EDGES = " \t\n\r\f\v\u00a0\u3000\"'`()<>[]{},;:=|/“”\u2018\u2019„«»「」『』\uff0c。\uff1a、"  # of a word
_FROM_START = rf"[^{re.escape(_EDGES)}\\]{{1,461}}"
_STOPS = frozenset(_EDGES + "\\")
_BASE64 = r"(?<![A-Za-z0-9+/_.-])[A-Za-z0-9+/]{40,800}={0,2}(?![A-Za-z0-9+/_.-])"
_COMMON = (
    r"(?!(?:my)?[A-Z][a-z]{2,}[-_.]?[A-Z][a-z]{2,}[-_.]?\d{1,2}\Z)[A-Za-z_.-]{1,40}\d{1,2}\Z"
    r"|#?[a-z]+\d?(?:[-_][a-z]+\d?){2,}(?:[-_.]\d+){0,3}(?:%|-[a-z0-9]{5})?\Z|.*(?:[a-z]-v\d"
    r"|a-z|A-Z|0-9)|\d+[A-Za-z]{1,4}-\d+[A-Za-z]{1,4}\Z|[\d.,_xX%-]+[A-Za-z]{0,3}\.?\Z"
    r"|&?[A-Za-z_]\w*\.\w+\Z|&[A-Za-z_]\w*\Z|[a-z]+\d{0,3}(?:-[a-z]{4,})+\Z|0x[0-9a-fA-F]{1,40}\Z|"
    r"[a-z_]+\+\d{1,2}\Z"
)  # words with digits
_CUE = "|".join(
    [f"(?P<name>{_NAMES_IT}|{_WORD_ABROAD}|{'|'.join(_CUES_ABROAD)})", _SPEAKS_OF_IT, *_ACCOUNTS_ABROAD]
)
_ISSUE = r"[\w.]{4,30}[#*@]\d{3,4}\Z"  # Summer#2026, which elsewhere may be an issue or a product
_GROUPED = r"(?=.*\d)[0-9A-Z]{4,8}(?:-[0-9A-Z]{4,8}){2,7}\Z"  # of a licence
_SAID = r"[\"'`]? (?:as|is) (?:\w{1,12} ){0,2}\Z"  # `... as the password`
_TYPED = r"(?:typed?|enter(?:ed)?|tr(?:y|ied)|g[ai]ve|used?|put) [\"'`]?\Z"  # `I typed ... for the password`
_REACH = 160  # characters from a word that speaks of secrets to the secret


def _without_strong(text: str) -> tuple[str, int]:
    """Replace words that can hardly be anything but a secret, near a word that speaks of one.

    What the nearest name governs need not be as strong: `the signing key, which both share, is 5f3a...`.
    """
    words = [word for word in _numbered_words(text) if _candidate(word.group())]
    if max(map(len, text.split()), default=0) >= 40:
        whole = [
            word for word in _pattern(_BASE64).finditer(text) if "/" in word.group() or "+" in word.group()
        ]
        spans = [word.span() for word in whole]
        words = sorted(
            [
                *(word for word in whole if not _stands_in(word.group())),
                *(word for word in words if not _within(word.start(), spans)),
            ],
            key=lambda word: word.start(),
        )
    if not words:
        return text, 0
    folded = _folded(text)
    names = _CUES if folded.isascii() else (*_CUES, *_CUES_ABROAD, *_ACCOUNTS_ABROAD)
    places: list[int] = []
    seen = 0
    for word in words:  # far from all of them nothing speaks of them
        start, seen = max(seen, word.start() - _REACH), max(seen, word.end() + 100)
        places += _places(names, folded, start, seen)
    if "[redacted:" in folded:  # a placeholder names a secret that is gone
        folded = _pattern(r"\[redacted:[a-z0-9-]{1,40}\]").sub(lambda match: " " * len(match.group()), folded)
        places = [place for place in places if folded[place] != " " or text[place] == " "]
    cues = [cue for cue in (_pattern(_CUE).match(folded, place) for place in places) if cue]
    starts = [cue.start() for cue in cues]
    parts: list[str] = []
    count = end = 0
    for word in words:
        value = word.group().rstrip(".!?") if word.group()[-1] == "." else word.group()
        at = bisect_left(starts, word.start())
        before = cues[at - 1] if at and starts[at - 1] > word.start() - _REACH else None
        if before and not before["name"]:  # what names a secret, a few words before, says more than `user`
            named = (cue for cue in reversed(cues[max(0, at - 4) : at - 1]) if cue["name"])
            nearest = next(named, None)
            if (
                nearest
                and nearest.start() > word.start() - 60
                and "\n" not in folded[nearest.end() : word.start()]
            ):
                before = nearest
        line = folded[max(folded.rfind("\n", 0, word.start()) + 1, word.start() - 100) : word.start()]
        after = cues[bisect_left(starts, word.end())] if starts and word.end() <= starts[-1] else None
        if after and (after.start() > word.end() + 80 or "\n" in folded[word.end() : after.start()]):
            after = None
        if after and not after["name"]:
            named = (cue for cue in cues[at : at + 3] if cue["name"] and cue.start() < after.end() + 2)
            after = next(named, after)
        said = after and (
            _pattern(_SAID).match(folded[word.end() : after.start()]) or _pattern(_TYPED).search(line)
        )
        edges = text[word.start() - 1 : word.start()] + text[word.end() : word.end() + 1]
        quoted = edges in ('""', "''", "``")
        if (
            ((before or said or (after and line)) and _strong(value, line))
            or (said and after and after["name"] and _is_likely(value))
            or (
                after
                and _pattern(r"[0-9a-f]{64}\Z").match(value)
                and _pattern(_OF_SECRETS).search(folded[word.end() : after.start()])
            )
            or (quoted and 10 <= len(value) <= 24 and _is_beside(value, line, before, after))
            or _introduced(value, text[word.start() - len(line) : word.start()])
            or (before and _plausible(value, folded, before, word.start(), line))
        ):
            armour = text.rfind("-----BEGIN ", max(0, word.start() - 4000), word.start())
            if armour >= 0 and "-----END" not in text[armour : word.start()]:
                continue  # of a certificate or a public key
            if _is_digest(value, text[max(0, word.start() - 400) : word.start()]):
                continue
            if _pattern(_IDENTIFIED).search(text, word.start() - 30, word.start()) or _in_code(word):
                continue
            parts.append(f"{text[end : word.start()]}[redacted:{'password' if _made_up(value) else 'token'}]")
            count, end = count + 1, word.start() + len(value)
    return "".join(parts) + text[end:], count


def _in_code(word: re.Match[str]) -> bool:
    """Whether a word is called, indexed, the type of a pointer, or compared with `!=`; or is cut off."""
    value, follows = word.group(), word.string[word.end() : word.end() + 3]
    called = _pattern(r"[(\[]| \*\w").match(follows) and _pattern(r"[*&]{0,2}[A-Za-z_][\w.]*\Z").match(value)
    return bool(called) or value.endswith("...") or (value[-1] == "!" and follows[:1] == "=")


def _numbered_words(text: str) -> Iterator[re.Match[str]]:
    """Find the words with a digit among their first 61 characters: from the digit, as few words have one."""
    end = 0
    while digit := _pattern("[0-9]").search(text, end):
        start = digit.start()
        while start > max(end, digit.start() - 61) and text[start - 1] not in _STOPS:
            start -= 1
        word = _pattern(_FROM_START).match(text, start)
        if not word:
            break
        end = word.end()
        if start == 0 or (text[start - 1] in _STOPS and text[start - 1] != "\\"):
            yield word


def _is_beside(value: str, line: str, before: re.Match[str] | None, after: re.Match[str] | None) -> bool:
    """Whether a quoted word beside a word that names a secret is random, or a password as people make it."""
    near = [cue for cue in (before, after) if cue and cue["name"]]
    if not near or _pattern(_DIGESTED).search(line) or _pattern(_HARMLESS).search(line[-40:]):
        return False
    of_password = any(cue.group().startswith(("pass", "pw")) for cue in near)
    chosen = of_password and bool(_pattern(_TITLED).match(value) or _pattern(_ISSUE).match(value))
    return (_jumbled(value) or chosen) and not _pattern(r"[a-z]{2,10}_").match(value)


def _within(place: int, spans: list[tuple[int, int]]) -> bool:
    at = bisect_left(spans, (place + 1,)) - 1
    return at >= 0 and place < spans[at][1]


def _candidate(value: str) -> bool:
    """Whether a word may be a secret at all."""
    value = _pattern(r"%(?:2[0-9A-F]|3[A-F]|5[BD]|40)(?=[A-Za-z])").sub("", value) if "%" in value else value
    return (
        len(value) >= 6
        and not _pattern(_COMMON).match(value)
        and not _pattern(_TERM).match(value.rstrip("?!."))
        and (
            len(value) >= 30
            or _is_password(value.rstrip("."))
            or bool(_pattern(_TITLED).match(value.rstrip(".")))
        )
        and not _pattern(_PUBLIC_FORM).match(value)
        and not _pattern(_NAME_OF_SECRET).match(value)
        and "example" not in value.lower()
    )


def _strong(value: str, line: str) -> bool:
    if _made_up(value):
        return len(value) >= 8 and not (line.endswith("/") and "#" in value)
    if _pattern(r"[A-Z][a-z]{3,}-?[A-Z][a-z]{3,}-?(?!19|20|128|256|512)\d{3,4}\Z").match(value):
        return not line.endswith("/") and bool(_pattern(_TITLED).match(value))
    return (
        _unguessable(value)
        and not _pattern(r"://\S*/\Z").search(line)
        and not _pattern(_DIGESTED).search(line)
        and not _pattern(_HARMLESS).search(line[-40:])
    )


def _plausible(value: str, folded: str, cue: re.Match[str], start: int, line: str) -> bool:
    """Whether a word after a word that names secrets is one."""
    before = folded[max(0, cue.start() - 24) : cue.start()]
    between = folded[cue.end() : start]
    if _pattern(_NO_SECRET).search(before + cue.group()):
        return False
    if len(between) > 90 or between.count("\n") > 2 or _pattern(f"{_DIGESTED}|{_TEMPLATE}").search(line):
        return False
    if not line and _pattern(r"[0-9a-f]{32,64} [ *]?[a-z./]").match(folded, start):
        return False  # a digest before what it is of
    if "\n" in between and not _pattern(r"[\"'`*.,;)]*\s*?(?:\n|\Z)").match(folded, start + len(value)):
        return False  # another line, which says more than the value
    if (cue["name"] and _pattern(_ABOUT).match(between)) or (between == ":" and before.endswith(":")):
        return False
    of_key = cue.group().startswith("key") and _pattern(r"[a-z]{2}[ _-]?\Z").search(before)
    if of_key and _pattern(_PUBLIC).search(before):
        return False
    flag = cue.group().startswith((" -p", " /p:")) and not between.strip(" \"'")
    user = _pattern(r"cred|log").match(cue.group()) and _pattern(r"[ :]{1,2}[\w.@-]{1,40} ?/ ?\Z").match(
        between
    )
    linked = (
        flag
        or bool(
            _pattern(r"cred|log|zugang|ident").match(cue.group())
            and _pattern(r"[^\n]*[:=][^\n]*[,;/] \Z").match(between)
        )
        or bool(user)
        or bool(_pattern(r"[^\n]{0,40} --?[a-z-]{1,20}[ =][\"']?\Z").match(between))
        or bool(_pattern(_LINK).search(between[-24:]))
    )
    prefixed = _pattern(r"(?:[a-z]{2,10}|[A-Z]{2,10}|[A-Z][a-z]{2,9})[_-]").match(value)
    if _pattern(_HARMLESS).search(between[-40:]) or _pattern(_HARMLESS).search(line[-40:]):
        return False
    if not (cue["name"] or of_key or flag):
        if cue.group() + between in ("login ", "auth ") and _pattern(r"[0-9a-f-]{32,64}\Z").match(value):
            return True  # of a command
        handed = _pattern(_HANDED).search(between) and _pattern(
            r"log|admin|root|user|wi-?fi|account|sudo|zugang|ident"
        ).match(cue.group())
        chosen = (_pattern(_TITLED).match(value) or _pattern(_ISSUE).match(value)) and len(value) >= 10
        least = 16 if "key" in cue.group() else 10 if handed else 12
        return bool(handed and chosen) or (
            linked and len(value) >= least and _jumbled(value) and not prefixed
        )
    if value.startswith("0x") and len(value) != 66:
        return False
    if (linked or between == " ") and of_key and _pattern(_GROUPED).match(value):
        return True
    if line.endswith("/") and "://" in line and value.isalnum():
        return False
    if _pattern(r"(?:md5|sha\d*|b2)sum|dgst|git |gpg ").search(folded[max(0, start - 160) : start]):
        return False
    if _pattern(r"[0-9a-f]{32,}\Z|[0-9A-F]{32,}\Z|(?=.*\d.*\d)[A-Z2-7]{16,64}\Z").match(value):
        return True
    if len(value) >= 16 and _dense(value) and _jumbled(value) and (_is_password(value) or "/" in value):
        return not prefixed or linked
    quoted = folded[start - 1 : start] in ("'", '"', "`")
    issue = (linked or quoted) and _pattern(_ISSUE).match(value)
    return bool(issue) or bool(
        (linked or between == " ")
        and (
            _pattern(_TITLED).match(value) or (linked and not of_key and _is_password(value) and _firm(value))
        )
        and (
            sum(map(str.isdigit, value)) >= (2 if linked else 3)
            or (linked and len(value) >= 10 and (_jumbled(value) or cue.group().startswith("pass")))
        )
    )


_LONGEST_PASSWORD = 500  # characters; what is longer is judged as a key


def _firm(value: str) -> bool:
    """Whether a word is rather a password than a version, a model or an identifier."""
    named = (
        r"[A-Za-z-]+\d{1,2}[a-z]?\Z|[A-Z][a-z]+-\d|[\w./-]*[._/][\w./-]*\Z|\w+&\w+\Z"
        r"|[A-Za-z]+[-_]?v?\d+\.\d+[\w.-]*\Z|[A-Za-z]+(?:-[A-Za-z]*\d*[a-z]?)+-\d{1,4}\Z"
    )
    plain = not value.isascii() or len(value) > _LONGEST_PASSWORD or _pattern(named).match(value)
    digits = sum(map(str.isdigit, value))
    return (
        _made_up(value)
        or bool(_pattern(_TITLED).match(value))
        or (not plain and (digits >= 2 or _jumbled(value)))
    )


_NO_PASSWORD = (  # an address, a version, an escaped letter, an issue, a line, a query
    r".*(?:@[\w-]+\.|@[\^~<>=]{0,2}v?\d+(?:\.|\Z)|@sha\d|%[0-9A-F]{2}%|%(?:20|2[A-F]"
    r"|3[A-F]|5[BD]|40)(?!\d\d\Z)|[\w.-]+@[a-z][a-z-]*-\d+\Z|\$\d\Z"
    r"|!(?:important|[rsa])\Z|\$[A-Za-z]+_[A-Za-z]|&(?:&|#|amp|[lg]t)|return!|#L\d|#[a-z]{4}|\?[.a-z]|"
    r"@(?:(?=\d*[a-f])[0-9a-f]{6,8}|[0-9a-f]{40})\Z)"
    r"|(?:[A-Z]*|[A-Z]?[a-z.-]+)#\d+\Z|[\w%.-]+&[a-z_]+(?:\Z|\d\.)|[a-z-]{4,}@v?\d|"
    r"[a-z][a-z._-]+@[a-z]{2,}\d{1,3}\Z"
)
# A sum or a product; `~` alone is of a path.
_SUM = r"\d[\w.]{0,4}[*+~-][^!#$%^?&@]*\Z|[^!#$%^*?&@]*\Z"


def _made_up(value: str) -> bool:
    """Whether a word has letters, digits and signs as a password has, and as no address and no term has."""
    if len(value) > _LONGEST_PASSWORD:
        return False  # the patterns below take quadratic time
    ending = value[-1] in "!?" and not any(sign in value[:-1] for sign in "!#$%^*?&@")
    return (
        bool(
            _pattern(
                r"(?=.*[A-Za-z]{2})(?=.*\d)(?:\w|[!?#$%^&*@](?=[A-Za-z][\w-]*[!#$%^&*?@]\d{2,}))[\w.+~"
                r"-]*[!#$%^*?&@~][\w.+~!#$%^*?&@-]*\Z"
            ).match(value)
        )
        and not _pattern(_NO_PASSWORD).match(value)
        and not _pattern(
            r"\w+(?:_|_t|_\w\d\w*|[a-z](?:8|16|32|64|128|256))[*&]+\Z|\d+\*\w|(?:[a-z]+\.){2}|"
            r"[A-Z]+[_-]?\d+[#?*]|[A-Za-z]+(?:19|20)\d\d[!?]\Z|[A-Za-z]+#(?:\d+-\d+[\d#-]*|[0-9a-f-]{20,})"
            r"\Z|.*Z#"
        ).match(value)
        and (_jumbled(value) or not _is_sum(value))
        and (not ending or sum(map(str.isdigit, value)) >= 3)
        and not _stands_in(value)
    )


def _is_sum(value: str) -> bool:
    """Whether a word is a sum or a pattern of names: no other sign stands behind its last operator."""
    for last, before in (("*", ".+*-"), (".+-", "*")):
        at = max(map(value.rfind, last))
        behind = any(sign in value[at + 1 :] for sign in "!#$%^?&@")
        if at > 0 and not behind and any(sign in value[:at] for sign in before):
            return True
    return bool(_pattern(_SUM).match(value))


def _unguessable(value: str) -> bool:
    """Whether a word is random: 24 characters or more, of which few have the class of their neighbour."""
    return (
        bool(_pattern(r"[A-Za-z0-9_-]{24,}=*\Z").match(value))
        and _mixed(value)
        and _jumbled(value)
        and not _pattern(r"[A-Za-z]{2,10}[_-]").match(value)
        and not _pattern(_PUBLIC_FORM).match(value)
    )


def _group(match: re.Match[str]) -> str:
    groups = match.groupdict().items()
    return next(name for name, value in groups if name not in ("sign", "loose") and value is not None)


def _value(match: re.Match[str]) -> str:
    return str(match.group(_group(match)))


def _kind(key: str) -> str:
    key = key.lower().replace("/", "")
    if key.startswith(("pass", "asword", "pwd", "pw", "psk", *_ABROAD)):
        return "password"
    if key in ("secret", "totp seed"):
        return "secret"
    return "token" if key.endswith(("token", "authorization", "auth")) else "api-key"


def _without_private(text: str) -> tuple[str, int]:
    """Drop the private parts, nested and unclosed ones too.

    Where two words would grow together a blank keeps them apart, so that no tag and no secret comes into
    being.
    """
    parts: list[str] = []
    count = depth = end = 0
    for tag in _pattern(r"(?i)<(/?)private\b[^<>]{0,200}>").finditer(text):
        if not tag.group(1):
            if depth == 0:
                parts.append(text[end : tag.start()])
                count += 1
            depth += 1
        elif depth:
            depth -= 1
            end = tag.end()
    if depth == 0:
        parts.append(text[end:])
    whole = parts[0] if parts else ""
    for part in parts[1:]:
        apart = not whole or not part or whole[-1].isspace() or part[0].isspace()
        whole += part if apart else " " + part
    return whole, count


def _without_key_blocks(text: str) -> tuple[str, int]:
    """Replace private keys in PEM armour; one that is cut off ends where its base64 does."""
    parts: list[str] = []
    count = end = 0
    kind = r"(?i:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1)-----"
    heads = list(_pattern("-----BEGIN " + kind).finditer(text))
    for place, head in enumerate(heads):
        if head.start() < end:
            continue
        after = heads[place + 1].start() if place + 1 < len(heads) else len(text)
        body = text.find("-----END ", head.end(), min(after, head.end() + 20_000))  # no key holds another
        if body < 0:
            base64 = _pattern(r"[A-Za-z0-9+/=\\\s]*").match(text, head.end())
            body = base64.end() if base64 else head.end()
        if max(map(len, text[head.end() : body].split()), default=0) < 24:
            continue  # the words alone, with no key after them
        foot = _pattern("-----END " + kind).match(text, body)
        parts.append(text[end : head.start()] + "[redacted:private-key]")
        count, end = count + 1, foot.end() if foot else body
    return "".join(parts) + text[end:], count
