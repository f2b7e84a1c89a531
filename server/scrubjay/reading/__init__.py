"""Reads files of many formats as text.

read         the text of a file's bytes, by its name and what they look like
read_file    the same for a path
kind_of      what a name promises, and the programming language of a source file

Converters are imported when a file of their kind is read: all of them together would cost every engine 50 MB.
They are synchronous, take seconds for large files, and belong into a thread. Whatever is wrong with a file is
an InputError of one sentence.
"""

from scrubjay.reading.kinds import Kind, kind_of
from scrubjay.reading.reader import MAX_FILE, MAX_TEXT, read, read_file
from scrubjay.reading.result import FileText

__all__ = ["MAX_FILE", "MAX_TEXT", "FileText", "Kind", "kind_of", "read", "read_file"]
