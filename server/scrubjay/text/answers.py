"""The sentences that all interfaces use for doubtful and empty answers, and for what was searched."""

from collections.abc import Sequence

from scrubjay.home.scopes import USER_SCOPE, display_name

DOUBTFUL = "Doubtful, perhaps related:"


def plural(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> plural(1, "turn"), plural(2_000, "turn")
    ('1 turn', '2,000 turns')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def named(scopes: tuple[str, ...] | None, own: str = "the user's own facts") -> str:
    """Return the searched scopes as a readable phrase, `own` for the user's; None means every scope.

    >>> named(("repo_sparrow__0123456789abcdef", "user")), named(None)
    ("sparrow and the user's own facts", 'every project')
    """
    if scopes is None:
        return "every project"
    return " and ".join(own if scope == USER_SCOPE else display_name(scope) for scope in scopes)


def nothing(
    scopes: tuple[str, ...] | None, period: str | None, everywhere: str, documents: str | None = None
) -> str:
    """Return sentences for an empty answer: what was searched, and what was not.

    `everywhere` says how to search every project, `documents` how to search documents, if there are any.
    """
    when = f" from {period}" if period else ""
    searched = f"No memory answers this{when}. Searched: {named(scopes)}."
    others = [f"documents ({documents})"] if documents else []
    others += [f"other projects ({everywhere})"] if scopes is not None else []
    further = f" Not searched: {', '.join(others)}." if others else ""
    return f"{searched}{further} Try other words, names of files or functions, or a longer period."


def may_answer(name: str, lines: Sequence[int], project: str, documents: str) -> str:
    """Return a sentence about a passage that may answer; `documents` says how to search documents.

    >>> may_answer("docs/runbook.md", (9, 11), "", "search_documents")
    'docs/runbook.md lines 9-11 may answer this: search_documents'
    """
    return f"{name} lines {lines[0]}-{lines[1]}{project} may answer this: {documents}"


def no_document(scopes: tuple[str, ...] | None, place: str | None, everywhere: str) -> str:
    """Return sentences for a search of documents without a hit; `place` is the searched path or id."""
    searched = named(scopes, "the user's own")
    within = f"{place} in {searched}" if place else f"the documents of {searched}"
    wider = [*(["no path or doc_id"] if place else []), *([everywhere] if scopes is not None else [])]
    advice = ", or ".join(["Try other words, names of functions or headings", *wider])
    return f"No document answers this. Searched: {within}. {advice}."
