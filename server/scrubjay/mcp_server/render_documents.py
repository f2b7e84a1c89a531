"""Renders documents as text for a model: chunks of documents, and what happened to the files of a folder."""

from scrubjay.mcp_server.render import (
    EVERYWHERE,
    NAME_SHOWN,
    Frame,
    fenced,
    limits_sentence,
    note_lines,
    quote,
)
from scrubjay.models.requests import MOST_TOKENS
from scrubjay.models.results import DocumentHit, DocumentHits, Ingested
from scrubjay.text.answers import DOUBTFUL, no_document, plural
from scrubjay.text.foreign import one_line
from scrubjay.text.short_ids import short_id

NOT_READ_SHOWN = 10  # unreadable files of a folder that are named


def document_hits(hits: DocumentHits, frame: Frame, place: str | None = None) -> str:
    """Render chunks of documents, best first; `place` is the path or id that the search was limited to."""
    left_out = _chunks_left_out_lines(hits)
    if not hits.results:
        where = place and one_line(place)
        return "\n".join(
            [
                *(left_out or [no_document(frame.scopes, where, EVERYWHERE) + limits_sentence(frame.limits)]),
                *note_lines(hits.degraded),
            ]
        )
    head = [DOUBTFUL] if hits.confidence == "weak" else []
    body = "\n".join(_document_block(hit, frame) for hit in hits.results)
    return "\n".join([*head, *note_lines(hits.degraded), *fenced(body), *left_out])


def trimmed(hits: DocumentHits, tokens: int) -> DocumentHits | None:
    """Drop the last part of an answer, as `render.trimmed` does."""
    excess = tokens - (hits.tokens.budget or MOST_TOKENS)
    if excess <= 0 or not hits.results:
        return None
    *others, last = hits.results
    update: dict[str, object] = {}
    if last.content:
        size = max(0, len(last.content) - 4 * excess)
        update = {"content": last.content[:size] or None, "truncated": True}
    elif len(last.chunks) > 1:
        update = {"chunks": last.chunks[:-1]}
        hits = hits.model_copy(update={"chunks_left_out": (hits.chunks_left_out or 0) + 1})
    elif not others and (last.metadata or last.summary):
        update = {"metadata": {}, "summary": None}
    elif not others and (text := last.chunks[0].content):
        cut = last.chunks[0].model_copy(update={"content": text[: max(0, len(text) - 4 * excess)]})
        update = {"chunks": [cut]}
    if update:
        return hits.model_copy(update={"results": [*others, last.model_copy(update=update)]})
    left_out = {"left_out": (hits.left_out or 0) + 1, "total": len(others)}
    return hits.model_copy(update={"results": others, **left_out})


def length(hit: DocumentHit, frame: Frame) -> int:
    """Count the characters of a document in `document_hits`, with the line break after it."""
    return len(_document_block(hit, frame)) + 1


def _chunks_left_out_lines(hits: DocumentHits) -> list[str]:
    parts = [f"{plural(hits.chunks_left_out, 'more chunk')} of these"] if hits.chunks_left_out else []
    parts += [plural(hits.left_out, "more document")] if hits.left_out else []
    return [f"{' and '.join(parts)} did not fit into {hits.tokens.budget} tokens."] if parts else []


def _document_block(hit: DocumentHit, frame: Frame) -> str:
    """Render a document: its name, then each chunk, quoted, under its line numbers."""
    title, path = one_line(hit.title or ""), frame.path(hit.path)
    name = path or title or "untitled"
    details = [] if not path or title in path else [title[:NAME_SHOWN]]
    details += [frame.date(hit.updated_at, day=True), short_id("chunk", hit.document_id)]
    project = frame.project(hit.scope) if hit.scope else ""
    parts = []
    for index, chunk in enumerate(hit.chunks):
        lines = f"lines {chunk.lines[0]}-{chunk.lines[1]}"
        mark = "" if chunk.is_relevant or chunk.score else " [next to it]"
        head = lines if index else f"{name} {lines} ({', '.join(details)}){project}"
        parts.append(f"{head}{mark}:\n{quote(chunk.content)}")
    if hit.summary:
        parts.append(f"Summary:\n{quote(hit.summary)}")
    if hit.content:
        query = f"?scope={hit.scope}" if project else ""  # needed to read another project's documents
        beginning = f"Beginning; all at scrubjay://document/{hit.document_id}{query}"
        parts.append(f"{beginning if hit.truncated else 'Whole text'}:\n{quote(hit.content)}")
    return "\n".join(parts)


def ingested(result: Ingested) -> str:
    """Describe what happened to the files of a folder."""
    names = ("added", "changed", "renamed", "removed", "unchanged", "forgotten")
    counts = ", ".join(f"{count:,} {name}" for name in names if (count := getattr(result, name)))
    commits = f" {plural(result.commits, 'commit')} added." if result.commits else ""
    lines = [f"Documents: {counts or 'none'}.{commits}"]
    lines += [f"Not read: {one_line(file.reason)}" for file in result.failed[:NOT_READ_SHOWN]]
    if len(result.failed) > NOT_READ_SHOWN:
        lines.append(f"{len(result.failed) - NOT_READ_SHOWN:,} more could not be read.")
    lines += [f"Left out: {one_line(file.reason)}" for file in result.left_out]
    if result.passed_over:
        lines.append(f"Hidden and skipped: {one_line(', '.join(result.passed_over[:NOT_READ_SHOWN]))}.")
    return "\n".join(lines)
