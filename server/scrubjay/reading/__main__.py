"""Runs the process that reads files (`python -m scrubjay.reading`), which `process` starts."""

from scrubjay.reading.process import serve
from scrubjay.reading.reader import read_at, read_here

if __name__ == "__main__":
    serve(read_here, read_at)
