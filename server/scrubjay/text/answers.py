"""What every face says of an answer in the same words: that it is doubtful or none, and what was searched."""

from collections.abc import Sequence

from scrubjay.home.scopes import USER_SCOPE, display_name

DOUBTFUL = "Doubtful, perhaps related:"


def named(scopes: tuple[str, ...] | None) -> str:
    """Name the scopes that were searched, as a person would say them; None is every scope.

    >>> named(("repo_sparrow__0123456789abcdef", "user")), named(None)
    ("sparrow and the user's own facts", 'every project')
    """
    if scopes is None:
        return "every project"
    return " and ".join(
        "the user's own facts" if each == USER_SCOPE else display_name(each) for each in scopes
    )


def nothing(
    scopes: tuple[str, ...] | None, period: str | None, everywhere: str, documents: str | None = None
) -> str:
    """Say that nothing remembered answers, and what was not looked at.

    `everywhere` is how to search every project, `documents` how to search documents, if there are any.
    """
    when = f" from {period}" if period else ""
    searched = f"Nothing that answers this is remembered{when}. Searched: {named(scopes)}."
    others = [f"documents ({documents})"] if documents else []
    others += [f"other projects ({everywhere})"] if scopes is not None else []
    further = f" Not searched: {', '.join(others)}." if others else ""
    return f"{searched}{further} Other words may help, names of files or functions, a longer period."


def may_answer(name: str, lines: Sequence[int], project: str, documents: str) -> str:
    """Say that a passage of a document may answer; `documents` is how to search documents.

    >>> may_answer("docs/runbook.md", (9, 11), "", "search_documents")
    'docs/runbook.md lines 9-11 may answer this: search_documents'
    """
    return f"{name} lines {lines[0]}-{lines[1]}{project} may answer this: {documents}"


def no_document(scopes: tuple[str, ...] | None, place: str | None, everywhere: str) -> str:
    """Say that no document answers; `place` is the path or id of the only ones that were searched."""
    within = f"{place} in {named(scopes)}" if place else f"the documents of {named(scopes)}"
    wider = [*(["no path or doc_id"] if place else []), *([everywhere] if scopes is not None else [])]
    advice = ", or ".join(["Other words may help, names of functions or headings", *wider])
    return f"No document answers this. Searched: {within}. {advice}."
