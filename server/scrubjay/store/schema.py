"""Arrow schemas and rows, derived from the models, so that only `models.records` defines the fields.

Instants are int64 microseconds since 1970 UTC (SQL timestamps have pitfalls), metadata is JSON text, and
tuples are lists. Rows are read here, so that every failure of LanceDB becomes an error that callers expect.
"""

import json
import types
import typing
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Literal, TypeVar

import pyarrow as pa

from scrubjay.models.records import Row

VECTOR = "vector"
_BATCH = 512  # rows in one batch: 0.8 MB of vectors
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
R = TypeVar("R", bound=Row)


def micros(moment: datetime) -> int:
    """Return an aware datetime as microseconds since 1970 UTC, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(count: int) -> datetime:
    """Return microseconds since 1970 UTC as a datetime, the inverse of `micros`."""
    return _EPOCH + count * _MICROSECOND


def _dump(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _load(text: str) -> dict[str, Any]:
    # Most rows have no metadata, and a search reads a hundred rows.
    values: dict[str, Any] = json.loads(text) if text != "{}" else {}
    return values


# annotation -> (Arrow type, encode for Arrow, decode from Arrow); None: the value stays the same
_Kind = tuple[pa.DataType, Callable[[Any], Any] | None, Callable[[Any], Any] | None]
_KINDS: dict[Any, _Kind] = {
    str: (pa.string(), None, None),
    int: (pa.int64(), None, None),
    float: (pa.float64(), float, None),
    bool: (pa.bool_(), None, None),
    bytes: (pa.binary(), None, None),
    datetime: (pa.int64(), micros, moment),
    tuple[str, ...]: (pa.list_(pa.string()), list, tuple),
    dict[str, Any]: (pa.string(), _dump, _load),
}


@cache
def _columns(model: type[Row]) -> dict[str, _Kind]:
    hints = typing.get_type_hints(model)
    return {name: _KINDS[_plain(hints[name])] for name in model.model_fields}


def _plain(annotation: Any) -> Any:
    """Return X for `X | None`, and str for a Literal of strings."""
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        (annotation,) = (part for part in typing.get_args(annotation) if part is not type(None))
    return str if typing.get_origin(annotation) is Literal else annotation


def arrow_schema(model: type[Row], *, dim: int | None = None) -> pa.Schema:
    """Return a table's schema: one column per field, and `vector` (float32, nullable) if `dim` is given.

    Only `id` is not nullable, as LanceDB requires of a primary key. The others are nullable, so that an older
    Scrubjay can append to a newer table.
    """
    fields = [pa.field(name, kind[0], nullable=name != "id") for name, kind in _columns(model).items()]
    if dim is not None:
        fields.append(pa.field(VECTOR, pa.list_(pa.float32(), dim)))
    return pa.schema(fields)


def to_table(
    rows: Sequence[Row], schema: pa.Schema, vectors: Sequence[Sequence[float] | None] | None = None
) -> pa.Table:
    """Return rows of one model as an Arrow table of exactly `schema`.

    `vectors` fills the vector column: for each row, a vector of shape (dim,) or None.
    """
    columns = []
    for field in schema:
        if field.name == VECTOR:
            columns.append(pa.array(vectors if vectors is not None else [None] * len(rows), field.type))
            continue
        encode = _columns(type(rows[0]))[field.name][1]
        values = [getattr(row, field.name) for row in rows]
        if encode:
            values = [None if value is None else encode(value) for value in values]
        columns.append(pa.array(values, field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def from_table(model: type[R], table: pa.Table) -> list[R]:
    """Return the rows of an Arrow table as models; columns not selected take the field's default."""
    # Read once, because each access builds this list again: 30 us for 40 columns.
    present = set(table.column_names)
    columns: dict[str, list[Any]] = {}
    for name, (_, _, decode) in _columns(model).items():
        if name in present:
            column = table.column(name)
            columns[name] = column.to_pylist()
            if decode and column.null_count < len(column):  # most columns of instants are empty
                columns[name] = [None if value is None else decode(value) for value in columns[name]]
    rows = zip(*columns.values(), strict=True)
    return [_construct(model, dict(zip(columns, row, strict=True))) for row in rows]


def _construct(model: type[R], values: dict[str, Any]) -> R:
    """Do the work of `model_construct`, without looking up every default for every row.

    A search creates about 400 rows, which take 15 us each with `model_construct` and 4 with this. A null
    takes the default too, because it is in a column that was added after the row was written.
    """
    row = model.__new__(model)
    defaults = {
        name: default.copy() if isinstance(default, dict) else default
        for name, default in _defaults(model).items()
        if values.get(name) is None
    }
    object.__setattr__(row, "__dict__", values | defaults)
    object.__setattr__(row, "__pydantic_fields_set__", set(values))
    object.__setattr__(row, "__pydantic_extra__", None)
    object.__setattr__(row, "__pydantic_private__", None)
    return row


@cache
def _defaults(model: type[Row]) -> dict[str, Any]:
    return {name: field.default for name, field in model.model_fields.items() if not field.is_required()}


async def read_table(query: Any) -> pa.Table:
    """Read the rows of a query. Raises RuntimeError, ValueError or OSError if LanceDB fails or panics."""
    with _panics():
        return await query.to_arrow()


async def read_batches(query: Any, rows: int = _BATCH) -> AsyncIterator[pa.RecordBatch]:
    """Read the rows of a LanceDB query in batches. Raises as `read_table` does."""
    with _panics():
        async for batch in await query.to_batches(max_batch_length=rows):
            yield batch


@contextmanager
def _panics() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # a flipped bit makes LanceDB panic with a class that it does not export
        if type(error).__name__ == "RustPanic":
            raise RuntimeError(f"LanceDB panicked over damaged data: {error}") from error
        raise
