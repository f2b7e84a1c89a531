"""Redaction: takes out of a text what must never be stored, secrets and what the user marked as private.

Every write passes through here, hooks' too: standard library only, Python 3.9 syntax. Each rule is data:
literals that any match must contain, and a pattern that is compiled only when one of them occurs. A pattern
never starts inside a run of its own characters, so every rule is linear in the text.
"""

from __future__ import annotations

import re
from collections import namedtuple

TYPE_CHECKING = False  # as in typing, which hooks do not wait for
if TYPE_CHECKING:
    from collections.abc import Callable

MAX_PASSES = 10  # taking out a secret can lay bare another; prose needs two passes, so this bounds malice

# Literals in lower case are searched in the folded text, others as they are. The group `secret`, else the
# whole match, is replaced if `is_genuine(match)`.
_Rule = namedtuple("_Rule", "kind literals pattern is_genuine")
_compiled: dict[str, re.Pattern[str]] = {}  # by source

_WORD = r"(?<![A-Za-z0-9_])"  # not inside a word
_RUN = r"(?<![A-Za-z0-9_-])"  # not inside a run of base64url
_REFERENCE = (  # a value that names where the secret is kept
    r"\$[A-Za-z_{(]|%[A-Za-z_]+%|[A-Za-z]:[\\/]|(?:~|\.{1,2})?/[\w.-]|@[A-Za-z]|#[A-Za-z]"
    r"|(?:os|env|process|self|this|cls|config|settings|secrets|request|req|ctx|args|opts|options|params|data|user|form|props|state|app"
    r"|import|vars?|local|module|vault|aws|kwargs|context|session|response|res|body|payload)\??\.[A-Za-z_]"
)
_NAME = r"[A-Za-z_.:-]+[0-9]{0,2}\Z"  # an identifier, perhaps with its version
_NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.:-"
_STAND_IN = (  # a word that stands where a secret would
    r"(?:none|null|nil|true|false|undefined|string|number|integer|boolean|object|bytes|value|default|password|passwd|pass|secret|token"
    r"|api[_-]?key|bearer|basic|user|username|required|optional|example|placeholder|change[_-]?me|redacted|removed|hidden|missing|invalid"
    r"|expired|unknown)[0-9]*\Z"
)


def _random(match: re.Match[str]) -> bool:
    """Whether the secret mixes letters and digits in a way that names do not."""
    value = match.group("secret")
    digits = sum(character.isdigit() for character in value)
    return 2 <= digits < len(value) and not _pattern(_NAME).match(value)


def _url_password(match: re.Match[str]) -> bool:
    """Whether `user:<this>@host` in a URL is a password rather than a place for one."""
    value = match.group("secret")
    return not (_stands_in(value) or value.startswith(("$", "%", "*", ":")))


def _assigned(match: re.Match[str]) -> bool:
    """Whether what is assigned to a name such as `password` or `api_key` is a literal secret.

    A password is any quoted word, or an unquoted one with a digit or a sign in it; a token or a key has at
    least eight characters, letters and digits. A name in capitals (a line of an .env file) may have any
    unquoted word.
    """
    key, bare = match.group("key"), match.group("bare")
    if key is None:
        return False
    groups: dict[str, str | None] = match.groupdict()
    value = bare or next(value for name, value in groups.items() if name != "key" and value is not None)
    called = bare and match.string[match.end() : match.end() + 1] in ("(", "[", "{")
    if called or _stands_in(value) or _pattern(_REFERENCE).match(value):
        return False
    if key.isupper() and "=" in match.group():
        return len(value) >= 6
    signs = value.strip(_NAME_CHARACTERS)  # what no plain name begins or ends with
    if _kind(key) in ("password", "secret"):
        return bool(signs) if bare else len(value) >= 6 and (bool(signs) or "." not in value)
    return (
        len(value) >= 8
        and not value.isdigit()
        and any(map(str.isdigit, value))
        and not _pattern(_NAME).match(value)
    )


def _stands_in(value: str) -> bool:
    """Whether a value is a word for a secret: a placeholder, a template, a mask, a sentence, a type."""
    folded = value.lower()
    return (
        bool(_pattern(_STAND_IN).match(folded))
        or any(mark in folded for mark in ("[redacted:", "{", "://", " ", "your"))
        or (value[0] == "<" and value[-1] == ">")
        or len(set(folded)) <= 2  # ******, xxxxxx
    )


def _rule(
    kind: str, literals: str, pattern: str, is_genuine: Callable[[re.Match[str]], bool] = lambda _: True
) -> _Rule:
    return _Rule(kind, tuple(literals.split()), pattern, is_genuine)


_ASSIGNMENT = (
    r"(?i)\[redacted:[a-z-]+\]"  # consumed first: a placeholder names a kind of secret, which is no key
    r"|(?P<key>password|passwd|passphrase|pwd|secret[_-]?key|secret|token|(?:api|access|private|account|encryption|signing|auth)[_-]?key"
    r"|authorization)"
    r"(?:[\\\"'`\]*]{0,3}(?: is)?"  # the end of a quoted key
    r"(?:[ \t]{0,3}(?:=>|:=|={1,3}|:)[*]{0,2}[ \t]{0,3}"
    r"|[ \t]{0,3}:[ \t]{0,2}[A-Za-z_][\w.\[\]|]{0,30}[ \t]{0,3}=[ \t]{0,3})"  # a type between name and value
    r"|(?<=--password)[ \t]|(?<=--token)[ \t]|(?<=--secret)[ \t]|(?<=--api-key)[ \t])"
    r"(?:\\\"(?P<escaped>[^\"\\\n]{4,})\\\"|[bru]{0,2}(?:\"(?P<double>[^\"\n]{4,})\"|'(?P<single>[^'\n]{4,})'|`(?P<tick>[^`\n]{4,})`)"
    r"|(?P<bare>[^\s\"'`,;<>(){}\[\]&|\\]{6,})(?<![.:!?]))"
)

_RULES = (
    _rule("jwt", "eyJ", _RUN + r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,3}"),
    _rule(
        "aws-access-key", "AKIA ASIA ABIA ACCA", _WORD + r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"
    ),
    _rule("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", _WORD + r"gh[pousr]_[A-Za-z0-9]{30,}"),
    _rule("github-token", "github_pat_", _WORD + r"github_pat_[A-Za-z0-9_]{22,}"),
    _rule(
        "gitlab-token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- glsoat-",
        _RUN + r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat)-[A-Za-z0-9_.-]{20,}",
    ),
    _rule(
        "slack-token",
        "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxe- xapp-",
        _RUN + r"(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}",
    ),
    _rule(
        "slack-webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/_-]{20,})",
    ),
    _rule(
        "stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", _WORD + r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"
    ),
    _rule("webhook-secret", "whsec_", _WORD + r"whsec_[A-Za-z0-9+/=]{24,}"),
    _rule("anthropic-key", "sk-ant-", _RUN + r"sk-ant-[A-Za-z0-9_-]{16,}"),
    _rule("openai-key", "sk-", _RUN + r"(?P<secret>sk-[A-Za-z0-9_-]{20,})", _random),
    _rule("google-api-key", "AIza", _RUN + r"AIza[A-Za-z0-9_-]{35}"),
    _rule("google-oauth", "ya29. GOCSPX-", _RUN + r"(?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{20,}"),
    _rule("npm-token", "npm_", _WORD + r"npm_[A-Za-z0-9]{30,}"),
    _rule("pypi-token", "pypi-", _RUN + r"pypi-[A-Za-z0-9_-]{40,}"),
    _rule("huggingface-token", "hf_ api_org_", _WORD + r"(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    _rule("supermemory-key", "sm_", _WORD + r"(?P<secret>sm_[A-Za-z0-9_-]{20,})", _random),
    _rule("sendgrid-key", "SG.", _RUN + r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _rule("docker-token", "dckr_", _WORD + r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    _rule("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", _WORD + r"do[opr]_v1_[a-f0-9]{40,}"),
    _rule("databricks-token", "dapi", _WORD + r"dapi[a-f0-9]{32}(?![A-Za-z0-9])"),
    _rule("vault-token", "hvs. hvb. hvr.", _RUN + r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    _rule("shopify-token", "shpat_ shpca_ shppa_ shpss_", _WORD + r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32,}"),
    _rule("groq-key", "gsk_", _WORD + r"gsk_[A-Za-z0-9]{40,}"),
    _rule("telegram-token", ":AA", r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
    _rule("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{40,}"),
    _rule("azure-signature", "sig=", r"(?<=[?&;])sig=(?P<secret>[A-Za-z0-9%+/=_-]{30,})"),
    _rule("bearer-token", "bearer", r"(?i)\bbearer[ \t]{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{16,})", _random),
    _rule(
        "basic-auth",
        "basic",
        r"(?i)authorization[\"'\\]{0,3}[ \t]{0,3}[:=][ \t]{0,3}[\"'\\]{0,3}basic[ \t]{1,4}"
        r"(?P<secret>[A-Za-z0-9+/=_-]{8,})",
    ),
    _rule("url-password", "://", r"://[^\s:/@?#\[\]\"'<>`]*:(?P<secret>[^\s/@\[\]\"'<>`]+)@", _url_password),
    # the kind is that of the key
    _rule("", "passw passphrase pwd secret token key authorization", _ASSIGNMENT, _assigned),
)


def redact(text: str) -> tuple[str, int]:
    """Take secrets and private parts out of a text, and count them.

    A secret becomes `[redacted:<kind>]`, e.g. `[redacted:aws-access-key]`; `<private>...</private>`, closed
    or not, is removed. Redacting twice changes nothing more.
    """
    count = 0
    for _ in range(MAX_PASSES):
        text, more = _once(text)
        count += more
        if not more:
            break
    return text, count


def _once(text: str) -> tuple[str, int]:
    count, folded = 0, text.lower()
    if "<private" in folded:
        text, count = _without_private(text)
        folded = text.lower()
    if "PRIVATE KEY" in text:
        text, more = _without_key_blocks(text)
        count += more
    for rule in _RULES:
        for literal in rule.literals:
            if literal in (folded if literal.islower() else text):
                text, more = _replace(rule, text)
                count += more
                break
    return text, count


def _replace(rule: _Rule, text: str) -> tuple[str, int]:
    count = 0

    def placeholder(match: re.Match[str]) -> str:
        nonlocal count
        if not rule.is_genuine(match):
            return match.group()
        count += 1
        groups = match.groupdict()
        name = next((name for name, value in groups.items() if name != "key" and value is not None), 0)
        before = match.string[match.start() : match.start(name)]
        after = match.string[match.end(name) : match.end()]
        return f"{before}[redacted:{rule.kind or _kind(groups['key'])}]{after}"

    return _pattern(rule.pattern).sub(placeholder, text), count


def _kind(key: str) -> str:
    key = key.lower()
    if key.startswith(("passw", "passp", "pwd")):
        return "password"
    return "secret" if key == "secret" else "token" if key in ("token", "authorization") else "api-key"


def _pattern(source: str) -> re.Pattern[str]:
    if source not in _compiled:
        _compiled[source] = re.compile(source)
    return _compiled[source]


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
    heads = list(_pattern(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----").finditer(text))
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
        foot = _pattern(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----").match(text, body)
        parts.append(text[end : head.start()] + "[redacted:private-key]")
        count, end = count + 1, foot.end() if foot else body
    return "".join(parts) + text[end:], count
