"""Configuration files as people have them, made from a number: all formats, odd indentation, comments, line ends.

Each has `"marker": before` near the top, for tests that change another part of a file.
"""

from __future__ import annotations

import json
import random
from typing import Any

WORDS = ["theme", "model", "telemetry", "editor.fontSize", "größe", "a b", "x-1", "permissions"]
HANDLER = {"type": "command", "command": "/usr/bin/notify", "args": ["it's done"]}


def config(seed: int) -> tuple[str, bytes]:
    """(format, bytes) of one file; format is JSON, JSONC, TOML or YAML."""
    at = random.Random(seed)
    name = ("JSON", "JSONC", "TOML", "YAML")[seed % 4]
    text = {"TOML": toml, "YAML": yaml}[name](at) if name in ("TOML", "YAML") else jsonc(at, name == "JSONC")
    if at.random() < 0.3:
        text = text.rstrip("\n")
    if at.random() < 0.3:
        text = text.replace("\n", "\r\n")
    return name, (b"\xef\xbb\xbf" if at.random() < 0.2 else b"") + text.encode()


def jsonc(at: random.Random, comments: bool) -> str:
    members: list[tuple[str, Any]] = [("marker", "before"), *((each, value(at)) for each in some(at))]
    if at.random() < 0.6:
        entries = at.choice([[], [{"hooks": [HANDLER]}], [{"matcher": "*", "hooks": [HANDLER, HANDLER]}]])
        members.append(
            ("hooks", at.choice([{}, {"Stop": entries}, {"PreToolUse": entries, "Stop": entries}]))
        )
    if at.random() < 0.6:
        members.append(("mcpServers", at.choice([{}, {"other": {"command": "npx", "args": ["other"]}}])))
    at.shuffle(members)
    if not comments and at.random() < 0.3:
        return json.dumps(dict(members), ensure_ascii=at.random() < 0.5)  # on one line
    step = at.choice(["  ", "    ", "\t", "   "])
    lines = ["{"]
    for number, (name, each) in enumerate(members):
        last = number == len(members) - 1
        if comments and at.random() < 0.4:
            lines.append(f'{step}// about "{name}": {{ [ " /*')
        inner = json.dumps(each, indent=at.choice([None, step]), ensure_ascii=False)
        inner = inner.replace("\n", "\n" + step)
        comma = "" if last and not (comments and at.random() < 0.5) else ","
        behind = " /* what // for */" if comments and at.random() < 0.3 else ""
        lines.append(f"{step}{json.dumps(name)}:{at.choice(['', ' ', '  '])}{inner}{behind}{comma}")
        if at.random() < 0.2:
            lines.append("")
    if comments and at.random() < 0.3:
        lines.append(f"{step}// that was all")
    return "\n".join([*lines, "}", ""])


def toml(at: random.Random) -> str:
    top = [
        'marker = "before"',
        "# what I like",
        'model = "o3" # best',
        "notes = '''\n[mcp_servers.scrubjay]\n'''",
    ]
    top += ["", "list = [\n  1, # one\n  2,\n]"]
    at.shuffle(top)
    tables = ["[mcp_servers.other]\ncommand = 'npx'\nargs = [\n    'x',\n]", '[profiles."a.b"]\nmodel = "o4"']
    tables += [
        "[[rules]]\nname = 'a'\n\n[[rules]]\nname = 'b' # last",
        "[hooks]\nx.y = 1",
        "# alone\n[empty]",
    ]
    if at.random() < 0.3:
        tables[0] = "[mcp_servers]\nother = { command = 'npx' }"
    at.shuffle(tables)
    gap = at.choice(["\n", "\n\n", "\n\n\n"])
    return (
        "\n".join(top[: at.randrange(2, 6)] if "marker" in "".join(top[:2]) else top)
        + gap
        + gap.join(tables[: at.randrange(6)])
    )


def yaml(at: random.Random) -> str:
    step = at.choice(["  ", "    ", "   "])
    other = [f"{step}other: # mine", f"{step * 2}cmd: 'npx'", f"{step * 2}args: [a,", f"{step * 3}b]"]
    other += [f"{step}text: |", f"{step * 2}several", "", f"{step * 2}lines"]
    parts = [
        ["marker: before"],
        ["# who am I", 'GOOSE_PROVIDER: "anthropic" # with a comment'],
        ["list:", f"{step}- a", f"{step}- b: 1", f"{step}  c: 2"],
        at.choice(
            [["extensions:", *other], ["extensions: {}"], ["extensions: {other: {cmd: npx}} # flow"], []]
        ),
        ["base: &base", f"{step}a: 1", "derived: *base"],
        [""],
    ]
    at.shuffle(parts)
    start = ["---"] if at.random() < 0.3 else []
    return "\n".join([*start, *(line for part in parts for line in part), ""])


def some(at: random.Random) -> list[str]:
    return at.sample(WORDS, at.randrange(len(WORDS)))


def value(at: random.Random) -> Any:
    plain = [None, True, -1.5, 12345678901234567890, 'quo"te \\ // no comment', "", [], {}, "häh\u2028er"]
    return at.choice([*plain, [at.choice(plain), at.choice(plain)], {"in,ner": {"deep": [at.choice(plain)]}}])
