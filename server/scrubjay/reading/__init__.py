"""Reads files of many formats as text. A large file takes seconds, so call this in a thread.

Converters are imported when a file of their kind is read, in the process that reads it (`process`), never in
the engine.
"""

from scrubjay.reading.kinds import HEAD, Kind, kind_of
from scrubjay.reading.reader import CALL_SECONDS, MAX_FILE, MAX_TEXT, SECONDS, content_fields, read, read_file
from scrubjay.reading.result import FileText

__all__ = [
    "CALL_SECONDS",
    "HEAD",
    "MAX_FILE",
    "MAX_TEXT",
    "SECONDS",
    "FileText",
    "Kind",
    "content_fields",
    "kind_of",
    "read",
    "read_file",
]
