"""All histories, in the order in which they are offered."""

from __future__ import annotations

from collections.abc import Iterable

from scrubjay.histories import (
    aider,
    cursor,
    exports,
    goose,
    memories,
    opencode,
    tasks,
    transcripts,
    vscode,
    zed,
)
from scrubjay.histories.disk import Disk
from scrubjay.histories.machine import Machine
from scrubjay.histories.stored import History, Stored


def _joined(*histories: History) -> History:
    """One history of a host that has several stores."""

    def places(machine: Machine) -> Iterable[str]:
        return [place for history in histories for place in history.places(machine)]

    def fits(path: str) -> bool:
        return any(history.fits(path) for history in histories)

    def stored(disk: Disk, path: str, at: float) -> Iterable[Stored]:
        return next(history for history in histories if history.fits(path)).stored(disk, path, at)

    return histories[0]._replace(places=places, fits=fits, stored=stored)


HISTORIES: tuple[History, ...] = (
    *transcripts.HISTORIES,
    _joined(History(cursor.HOST, cursor.places, cursor.fits, cursor.stored), transcripts.CURSOR_LINES),
    History(vscode.HOST, vscode.places, vscode.fits, vscode.stored),
    opencode.history("opencode"),
    _joined(opencode.history("kilo"), tasks.history("kilo", "kilocode.kilo-code")),
    tasks.history("cline", "saoudrizwan.claude-dev"),
    tasks.history("roo", "rooveterinaryinc.roo-cline"),
    History(goose.HOST, goose.places, goose.fits, goose.stored),
    History(zed.HOST, zed.places, zed.fits, zed.stored),
    History(aider.HOST, aider.places, aider.fits, aider.stored, deep=aider.DEEP),
    exports.history("claude-ai", exports.claude_ai),
    exports.history("chatgpt", exports.chatgpt),
    *memories.HISTORIES,
)
