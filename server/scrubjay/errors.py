"""The tree of errors. Standard library only, so hooks and the pipe may use it.

ScrubjayError           every message is a sentence for the user: what happened, with which value, what to do
├── InputError          the caller can fix it; nothing was written
│   └── NotFound        an id without a record here
├── HomeError           the home folder cannot be used: rights, owner, space, file system
├── EngineError         the engine cannot be reached, started or agreed with
├── StoreError          LanceDB's files are damaged or of another version
├── EncoderError        a model is missing, altered or cannot be loaded
└── SpoolError          an envelope cannot be read; it is moved away, and no host sees the error
"""


class ScrubjayError(Exception):
    """Base of all errors that Scrubjay raises on purpose; `str(error)` may be shown to a user."""


class InputError(ScrubjayError):
    """The request is wrong; the message says how to correct it."""


class NotFound(InputError):
    """An id has no record, or its record is outside the caller's scope."""


class HomeError(ScrubjayError):
    """The home folder cannot be used."""


class EngineError(ScrubjayError):
    """The engine of a home cannot be reached or started, or refuses this client."""


class StoreError(ScrubjayError):
    """The files of the store are damaged, or were written by a newer Scrubjay."""


class EncoderError(ScrubjayError):
    """A model is missing, was altered or cannot be loaded."""


class SpoolError(ScrubjayError):
    """An envelope in the spool cannot be read."""
