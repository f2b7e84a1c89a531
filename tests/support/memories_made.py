"""What hosts remember, made up: one file of each kind, with a single fact of its own."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import NamedTuple

TOPIC = """---
name: heron
description: Where it listens
metadata:
  type: project
---
{fact}
"""
INDEX = """# Memory

- [The heron](heron.md): where it listens
- {fact}
"""
CODEX = """# Task Group: sparrow, releases

scope: releases of sparrow
applies_to: cwd={project}; reuse_rule=safe in this checkout

## Task 1: Release it, success

### rollout_summary_files

- rollout_summaries/a.md (cwd={project}, thread_id=a)

### keywords

- sparrow, release

## Reusable knowledge

- {fact} [Task 1]
"""
SUMMARY = """v1

## User preferences
- {fact}

## What's in Memory
- sparrow: how it is released
"""
ROLLOUT = """thread_id: 0199a1b2-0000-4000-8000-000000000001
updated_at: 2026-03-01T09:00:00+00:00
cwd: {project}

# It was released

Outcome: success

Reusable knowledge:
- {fact}

References:
- [1] make release
"""
OWN_RULES = """# Rules of mine

- Answer in English.

## {host} Added Memories
- {fact}

## More rules
- Be brief.
"""
PATCH = """--- /dev/null
+++ {home}/.gemini/tmp/sparrow/memory/MEMORY.md
@@ -0,0 +1,3 @@
+# Project Memory
+
+- {fact}
"""


class Kind(NamedTuple):
    """A kind of memory file: its host, its place in the user's home, its text, and whose facts it holds."""

    host: str
    path: str
    text: str
    is_users: bool = False

    @property
    def fact(self) -> str:
        """A fact that no other kind holds."""
        name = re.sub(r"[^a-z]+", " ", f"{self.host} {os.path.basename(self.path)} {self.is_users}".lower())
        return f"The service of {name}listens on port 5433."


CODE = ".config/Code/User"
KINDS = (
    Kind("claude-code", ".claude/projects/{slug}/memory/heron.md", TOPIC),
    Kind("claude-code", ".claude/projects/{slug}/memory/MEMORY.md", INDEX),
    Kind("claude-code", ".claude/agent-memory/reviewer/MEMORY.md", INDEX, is_users=True),
    Kind("claude-code", "sparrow/.claude/agent-memory-local/reviewer/local.md", INDEX),
    Kind("claude-code", "notes/of-claude/notes.md", INDEX, is_users=True),
    Kind("codex", ".codex/memories/MEMORY.md", CODEX),
    Kind("codex", ".codex/memories/memory_summary.md", SUMMARY, is_users=True),
    Kind("codex", ".codex/memories/rollout_summaries/a.md", ROLLOUT),
    Kind("vscode", f"{CODE}/globalStorage/github.copilot-chat/memory-tool/memories/likes.md", INDEX, True),
    Kind("vscode", f"{CODE}/workspaceStorage/abc/GitHub.copilot-chat/memory-tool/memories/repo/r.md", INDEX),
    Kind("gemini-cli", ".gemini/GEMINI.md", OWN_RULES.replace("{host}", "Gemini"), is_users=True),
    Kind("gemini-cli", ".gemini/tmp/sparrow/memory/MEMORY.md", INDEX),
    Kind("gemini-cli", ".gemini/tmp/sparrow/memory/.inbox/private/extraction.patch", PATCH),
    Kind("qwen-code", ".qwen/QWEN.md", OWN_RULES.replace("{host}", "Qwen"), is_users=True),
    Kind("qwen-code", ".qwen/memories/feedback.md", TOPIC, is_users=True),
    Kind("qwen-code", ".qwen/projects/{slug}/memory/project.md", TOPIC),
    Kind("qwen-code", "sparrow/.qwen/team-memory/MEMORY.md", INDEX),
    Kind("kiro", ".kiro/steering/style.md", TOPIC, is_users=True),
    Kind("kiro", "sparrow/.kiro/steering/tech.md", TOPIC),
    Kind("windsurf", ".codeium/windsurf/memories/global_rules.md", INDEX, is_users=True),
)


def write(kind: Kind, home: Path, fact: str | None = None) -> Path:
    """Write a memory file of the project `sparrow` in a user's home; with `fact` "", without any fact."""
    project = home / "sparrow"
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(project))
    path = home / kind.path.replace("{slug}", slug)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = kind.text if fact != "" else re.sub(r".*\{fact\}.*\n", "", kind.text)
    said = {"{project}": str(project), "{home}": str(home), "{fact}": fact or kind.fact}
    path.write_text(re.sub(r"\{\w+\}", lambda name: said[name[0]], text))
    if fact == "" and kind.text is TOPIC:
        path.unlink()
    return path


def write_all(home: Path) -> None:
    """Write a file of every kind, and what says whose the files are."""
    for kind in KINDS:
        write(kind, home)
    (home / ".claude/settings.json").write_text(json.dumps({"autoMemoryDirectory": "~/notes/of-claude"}))
    folder = {"folder": (home / "sparrow").as_uri()}
    (home / CODE / "workspaceStorage/abc/workspace.json").write_text(json.dumps(folder))
    (home / ".gemini/tmp/sparrow/.project_root").write_text(str(home / "sparrow"))
