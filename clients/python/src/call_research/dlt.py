"""A dlt source that loads an organization's records into a data warehouse. Needs dlt: `call-research-client[dlt]`."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, get_origin, get_type_hints, is_typeddict

import dlt
from dlt.common.data_types import TDataType
from dlt.common.schema.typing import TColumnSchema, TWriteDispositionConfig
from dlt.extract import DltResource

from .client import Client
from .stores import Position, RecordType, StoredChange
from .types import Call, Entity, ProjectListItem

DELETED = "deleted"
"""The column that tells dlt which rows to delete. It is null in all rows of the warehouse."""

MERGE: TWriteDispositionConfig = {"disposition": "merge", "strategy": "delete-insert"}
# Nothing is deleted when all is replaced: dlt would warn of a column for it.
REPLACE = dlt.mark.make_hints(write_disposition="replace", columns={DELETED: {"hard_delete": False}})
TIMES = ("created_at", "updated_at", "date")
BATCH = 100


# Later runs merge into nested tables that a full read, which replaces, has filled. This needs the root's key in their rows.
@dlt.source(name="call_research", section="call_research", root_key=True)
def call_research_source(base_url: str = dlt.config.value, key: str = dlt.secrets.value) -> Iterable[DltResource]:
    """Returns the resources `calls` (with nested tables), `projects` (needs the write surface) and `entities` of a key's organization.

    The first run reads all records and replaces the tables. Each further run merges what has changed, and deletes the rows of
    deleted records. If a setting of the organization changes, or the API rejects the cursor, the next run reads all again.
    Call this for each run, because dlt doesn't reset a source whose tables were replaced: its next run would replace them again.

    Use one pipeline and one dataset for each organization. Without arguments, dlt reads `base_url`, which ends in `/v1`, and
    `key` from its configuration, for example from SOURCES__CALL_RESEARCH__BASE_URL and SOURCES__CALL_RESEARCH__KEY.
    """
    # Text must stay text even if the first value of its column is a timestamp. The columns of times are declared.
    dlt.current.source_schema().remove_type_detection("iso_timestamp")
    yield _resource(base_url, key, "calls", "call", Call)
    yield _resource(base_url, key, "projects", "project", ProjectListItem)
    yield _resource(base_url, key, "entities", "entity", Entity)


def _resource(base_url: str, key: str, name: str, record: RecordType, shape: type) -> DltResource:
    primary_key = f"{record}_id"
    columns: dict[str, TColumnSchema] = {DELETED: {"data_type": "bool", "hard_delete": True}, **_columns(shape)}

    @dlt.resource(name=name, primary_key=primary_key, write_disposition=MERGE, columns=columns)
    def read() -> Iterator[Any]:
        # dlt saves the state with the rows in one load, so a failed load is repeated, or its changes are read again.
        state = dlt.current.resource_state()
        changes = _Changes(state.get("cursor"))
        with Client(base_url, key) as client:
            client.sync(changes, types=[record])
        if changes.is_full:
            yield dlt.mark.with_hints(dlt.mark.materialize_table_schema(), REPLACE)
        for batch in changes.batches():
            yield [
                # Whole numbers are floats too, or a column's type would depend on its first value.
                {primary_key: id, DELETED: True} if document is None else json.loads(document, parse_int=float)
                for id, document in batch
            ]
        state["cursor"] = changes.cursor

    return read


class _Changes:
    """A store for `Client.sync` that collects the last change of each record, which can be more than fits in memory.

    Implements `call_research.Store`. It isn't the copy, so it starts at the cursor of the last load, never in a full resync.
    """

    def __init__(self, cursor: str | None) -> None:
        self.cursor = cursor
        self.is_full = False
        """Whether the changes are all records."""
        # An empty path stands for a temporary file that SQLite deletes.
        self._db = sqlite3.connect("")
        self._db.execute("create table changes (id text primary key, document text)")

    def load(self) -> Position:
        return Position(self.cursor, None)

    def begin(self, at: Position, resync: str) -> None:
        self.is_full = True
        self._db.execute("delete from changes")

    def apply(self, at: Position, changes: Sequence[StoredChange], next_cursor: str) -> None:
        self._db.executemany("insert or replace into changes values (?, ?)", [(it.id, it.document) for it in changes])
        # Without changes, the new cursor stands for the same position: storing it would make each idle run a load.
        if changes or self.is_full:
            self.cursor = next_cursor

    def end(self, at: Position) -> None:
        # The rows of a full read replace all others, so there is nothing to delete.
        self._db.execute("delete from changes where document is null")

    def batches(self) -> Iterator[list[tuple[str, str | None]]]:
        rows = self._db.execute("select id, document from changes")
        while batch := rows.fetchmany(BATCH):
            yield batch
        self._db.close()


def _columns(shape: type, prefix: str = "") -> dict[str, TColumnSchema]:
    """Declares the columns of a type of records, so that all exist from the first load on, even if no record has a value."""
    columns: dict[str, TColumnSchema] = {}
    for name, value in get_type_hints(shape).items():
        if is_typeddict(value):
            columns |= _columns(value, f"{prefix}{name}__")
        elif get_origin(value) is not list:
            columns[prefix + name] = {"data_type": _data_type(name, value)}
    return columns


def _data_type(name: str, value: object) -> TDataType:
    if name in TIMES:
        return "timestamp"
    if value in (float, float | None):
        return "double"
    return "bool" if value in (bool, bool | None) else "text"
