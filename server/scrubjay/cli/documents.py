"""`scrubjay index` and `scrubjay documents`: index files, list documents with their status, find passages."""

import argparse
import glob
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

from scrubjay.cli.command import Place, drop_none, refuse_below_one
from scrubjay.cli.display import Progress, degraded_note, first_line, local, plural, print_answer
from scrubjay.errors import EngineError, InputError
from scrubjay.home.scopes import display_name, search_scopes
from scrubjay.pipe.client import EngineClient
from scrubjay.text.answers import DOUBTFUL, no_document
from scrubjay.text.foreign import visible
from scrubjay.text.short_ids import short_id

LISTED = 20  # documents in a list, unless the user gives a number
MAX_INPUT = 50 * 1024 * 1024  # bytes of standard input
MAX_SKIPPED = 5  # hidden folders that are listed
MAX_FAILED = 10  # unreadable files that are listed
LISTENS_MS = 500  # after this time listening has begun; Ctrl-C is noticed within it
QUIET_MS = 400  # pause that ends a burst of changes: editors write a file in steps, git hundreds of files


def index(place: Place, options: argparse.Namespace) -> int:
    """Make files, folders, commits or standard input searchable; keep them up to date."""
    if options.paths == ["-"]:
        _add_standard_input(place, options)
        return 0
    if not options.paths and not options.git:
        raise InputError("Give the path of a file or a folder, such as `.`, or --git for commits only.")
    paths = _absolute(place, options.paths or ["."])
    with place.engine(scope=options.scope) as engine:
        result = _index(engine, paths, options)
        _print_counts(result)
        _print_skipped(result.get("passed_over", []), paths)
        for file in result.get("left_out", []):
            print(f"Left out: {visible(file['reason'])}")
        if forgotten := result.get("forgotten", 0):
            print(f"{plural(forgotten, 'document')} forgotten before; give a file's path to index it again.")
    if options.watch:
        for number, _ in enumerate(changes(paths)):
            _follow(place, paths, options)
            if number == 0:  # changes from before listening began are indexed now
                print("Watching; Ctrl-C ends it.", flush=True)
    return 1 if any(failed["path"] in paths for failed in result.get("failed", ())) else 0


def _follow(place: Place, paths: Sequence[str], options: argparse.Namespace) -> None:
    """Index changes; if the engine stops meanwhile, use another engine."""
    for is_last in (False, True):
        try:
            with place.engine(scope=options.scope) as engine:
                _print_counts(_index(engine, paths, options, again=False), quiet=True)
            return
        except EngineError as error:
            if is_last:
                print(f"scrubjay: {error} It will be retried with the next change.", file=sys.stderr)


def _index(
    engine: EngineClient, paths: Sequence[str], options: argparse.Namespace, **overrides: bool
) -> dict[str, Any]:
    commits = "only" if options.git else "none" if options.no_git else "root"
    params = {"paths": list(paths), "again": options.again, "hidden": options.hidden, "commits": commits}
    with Progress("indexing") as progress:
        counts: dict[str, Any] = engine.call("index", params | overrides, progress.step)
    return counts


def _print_skipped(folders: Sequence[str], paths: Sequence[str]) -> None:
    """List the hidden folders that were skipped; if there is a single root, relative to it."""
    if not folders:
        return
    root = os.path.join(paths[0], "") if len(paths) == 1 else ""
    shown = ", ".join(visible(folder.removeprefix(root)) for folder in folders[:MAX_SKIPPED])
    more = " and others" if len(folders) > MAX_SKIPPED else ""
    print(f"Hidden and skipped: {shown}{more}. --hidden includes them, or give the path of one.")


def _print_counts(result: dict[str, Any], *, quiet: bool = False) -> None:
    counts = {name: result.get(name, 0) for name in ("added", "changed", "renamed", "removed")}
    failed = result.get("failed", [])
    if quiet and not any(counts.values()) and not failed and not result.get("commits"):
        return
    summary = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    if commits := result.get("commits", 0):
        summary = ", ".join(filter(None, (summary, f"{plural(commits, 'commit')} added")))
    print(f"{summary or 'Nothing new'}; {plural(result['unchanged'], 'document')} unchanged.", flush=True)
    for file in failed[:MAX_FAILED]:
        print(f"not read: {visible(file['reason'])}", file=sys.stderr)
    if len(failed) > MAX_FAILED:
        more = f"{len(failed) - MAX_FAILED:,} more could not be read"
        print(f"{more}; `scrubjay documents --failed` lists them.", file=sys.stderr)


def _add_standard_input(place: Place, options: argparse.Namespace) -> None:
    if options.watch:
        raise InputError("Standard input cannot be watched; give the path of a file or a folder.")
    data = sys.stdin.buffer.read(MAX_INPUT + 1)
    if len(data) > MAX_INPUT:
        raise InputError(f"Standard input has more than {MAX_INPUT:,} bytes; split it.")
    from scrubjay.reading import read

    text = read(data, options.title or "standard input")
    document = drop_none(content=text.text, type=text.kind, title=text.title, metadata=text.metadata)
    if options.title:
        custom_id = f"stdin:{options.title}"[:200]  # a later text with this title replaces it
        document |= {"title": options.title, "custom_id": custom_id}
    with place.engine(scope=options.scope) as engine:
        added = engine.call("add_document", document)
    print(f"Document {added['id']}: {plural(added['chunks'], 'chunk')}.")


def _absolute(place: Place, names: Sequence[str]) -> list[str]:
    """Return absolute paths; expand patterns that the shell did not.

    Raises InputError if a pattern matches nothing, or if `-` is mixed with other paths.
    """
    paths: list[str] = []
    for name in names:
        if name == "-":
            raise InputError("`-` (standard input) cannot be mixed with paths; index it separately.")
        path = place.path(name)
        is_pattern = glob.has_magic(path) and not os.path.lexists(path)
        try:
            matches = sorted(glob.glob(path, recursive=True)) if is_pattern else [path]
        except RecursionError:
            raise InputError(f"{name[:80]!r} leads too deep for a pattern; give a folder.") from None
        if not matches:
            raise InputError(f"{name!r} matches no file.")
        paths += matches
    return list(dict.fromkeys(map(os.path.realpath, paths)))


def changes(paths: Sequence[str]) -> Iterator[None]:
    """Yield when listening begins, then after every burst of changes, until Ctrl-C (KeyboardInterrupt)."""
    from watchfiles import watch  # native code, only for --watch

    folders = {path if os.path.isdir(path) else os.path.dirname(path) for path in paths}
    is_listening = False
    with _stopping() as stopped:
        for burst in watch(
            *folders,
            step=QUIET_MS,
            debounce=10 * QUIET_MS,
            rust_timeout=LISTENS_MS,
            yield_on_timeout=True,
            stop_event=stopped,
        ):
            if burst or not is_listening:
                is_listening = True
                yield
    raise KeyboardInterrupt


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C sets, because Python drops an interrupt that is raised in a callback."""
    stopped = threading.Event()

    def interrupted(*_: object) -> None:
        stopped.set()
        raise KeyboardInterrupt

    previous_handler = signal.signal(signal.SIGINT, interrupted)
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, previous_handler)


def documents(place: Place, options: argparse.Namespace) -> int:
    """List documents with their status; or find passages in them."""
    if options.limit is not None:
        refuse_below_one("-n", options.limit)
    if options.query:
        return _find(place, options)
    scope = options.scope or place.current_scope()
    last = LISTED if options.limit is None else options.limit
    rows = place.ask("documents", last=100_000 if options.failed else last, scope=scope)
    reasons = place.ask("left_out", scope=scope) if options.failed else []
    if options.failed:
        rows = [row for row in rows if row["status"] == "failed"][: options.limit]
    no_documents = "There are no documents here yet. `scrubjay index PATH` adds some."
    no_rows = "No document failed." if options.failed else no_documents
    lines = [
        *(map(_row, rows) if rows else [no_rows]),
        *(f"left out    {each['reason']}" for each in reasons),
    ]
    print_answer(rows, lines, as_json=options.json)
    return 0


def _row(row: dict[str, Any]) -> str:
    when = f"{local(row['updated_at']):%Y-%m-%d %H:%M}" if "updated_at" in row else " " * 16
    name = first_line(row.get("path") or row.get("title") or "", 100)
    error = f"  {first_line(row['error'], 120)}" if row.get("error") else ""
    chunks = plural(row.get("chunks", 0), "chunk")
    return f"{row['status']:<10}  {when}  {chunks:<12}  {name}  {row.get('id', '')}{error}".rstrip()


def _find(place: Place, options: argparse.Namespace) -> int:
    limits = {"limit": options.limit, "max_tokens": options.max_tokens}
    answer = place.ask("search_documents", query=" ".join(options.query), scope=options.scope, **limits)
    lines = passage_lines(answer, place.path("."))
    if not answer["results"]:
        searched = search_scopes(options.scope, place.current_scope())
        lines = iter([no_document(searched, None, "--all for every project")])
    print_answer(answer, chain(degraded_note(answer), lines), as_json=options.json)
    return 0 if answer["results"] else 1


def passage_lines(answer: dict[str, Any], folder: str) -> Iterator[str]:
    """Yield the answer of a document search as lines; paths below `folder` are relative to it."""
    if answer["confidence"] == "weak":
        yield DOUBTFUL
    for rank, hit in enumerate(answer["results"], 1):
        name = hit.get("path", hit.get("title", "untitled")).removeprefix(os.path.join(folder, ""))
        details = [f"{local(hit['updated_at']):%Y-%m-%d}", short_id("chunk", hit["document_id"])]
        details += [display_name(hit["scope"]), *([hit["title"]] if "path" in hit and "title" in hit else [])]
        yield f"{rank:>3} {name}  {'  '.join(details)}"
        for chunk in hit["chunks"]:
            yield f"      lines {chunk['lines'][0]}-{chunk['lines'][1]}  score {chunk['score']:.2f}"
            yield from (f"        {line}".rstrip() for line in chunk["content"].splitlines())
    more_chunks, other_documents = answer.get("chunks_left_out", 0), answer.get("left_out", 0)
    omitted = f"; {more_chunks} more of these and {plural(other_documents, 'other document')} did not fit"
    ending = omitted if more_chunks or other_documents else ""
    count = sum(len(hit["chunks"]) for hit in answer["results"])
    spent = plural(answer["tokens"]["spent"], "token")
    yield f"\n{plural(count, 'chunk')}, about {spent}, {answer['timing']:.0f} ms{ending}."
