"""Stores of a copy: the protocol that a store implements, and stores in SQLite and PostgreSQL."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, LiteralString, Protocol, Self

from .errors import ProtocolError

if TYPE_CHECKING:
    import psycopg


@dataclass(frozen=True)
class Position:
    """How far a copy is. `cursor` is None before the first page of a full resync.

    `resync` is the id of the full resync in progress, else None.
    """

    cursor: str | None
    resync: str | None


RecordType = Literal["call", "project", "entity"]

_TABLES: Mapping[RecordType, tuple[LiteralString, LiteralString]] = {
    "call": ("call_research_calls", "call_id"),
    "project": ("call_research_projects", "project_id"),
    "entity": ("call_research_entities", "entity_id"),
}


@dataclass(frozen=True)
class StoredChange:
    """A change to store. `document` is the JSON text of the record exactly as the API sent it; None: it was deleted."""

    type: RecordType
    id: str
    changed_at: str
    document: str | None


class Store(Protocol):
    """A copy of the calls, and of the projects and entities if they are synced too, and its position in the feed of changes.

    A full resync is a pass over all records: at the first sync, after a change of the organization's settings, and after the API
    has rejected the cursor. It has a random id, and each record that it meets is marked with that id.

    `begin`, `apply` and `end` are one transaction each. If the stored position is not `at`, another sync is running: then they
    change nothing and raise ProtocolError.
    """

    def load(self) -> Position:
        """The stored position; `Position(None, None)` before the first sync."""

    def begin(self, at: Position, resync: str) -> None:
        """Starts a full resync: stores its id, and None as cursor. Keeps the records and their marks."""

    def apply(self, at: Position, changes: Sequence[StoredChange], next_cursor: str) -> None:
        """Stores documents and marks them with `at.resync`, deletes deleted records (each has one change), stores the cursor."""

    def end(self, at: Position) -> None:
        """Ends the full resync: deletes each record of any type that isn't marked with `at.resync`, and stores None as `resync`."""


class _SqlStore:
    """The SQL that both databases share. `?` stands for a parameter."""

    def __init__(self, json: LiteralString) -> None:
        for table, key in _TABLES.values():
            columns = f"{key} text primary key, document {json} not null, changed_at text not null, resync text"
            self._run(f"create table if not exists {table} ({columns})")
        row = "one integer primary key check (one = 1), cursor text, resync text"
        self._run(f"create table if not exists call_research_sync ({row})")
        self._run("insert into call_research_sync (one) values (1) on conflict do nothing")

    def _transaction(self) -> AbstractContextManager[object]:
        raise NotImplementedError

    def _run(self, statement: LiteralString, *rows: Sequence[str | None]) -> Any:
        """Runs a statement once for each row, or once without rows, and returns the driver's cursor."""
        raise NotImplementedError

    def load(self) -> Position:
        return Position(*self._run("select cursor, resync from call_research_sync").fetchone())

    def begin(self, at: Position, resync: str) -> None:
        with self._transaction():
            self._move(at, Position(None, resync))

    def apply(self, at: Position, changes: Sequence[StoredChange], next_cursor: str) -> None:
        with self._transaction():
            self._move(at, Position(next_cursor, at.resync))
            for kind, (table, key) in _TABLES.items():
                of_kind = [it for it in changes if it.type == kind]
                if deleted := [(it.id,) for it in of_kind if it.document is None]:
                    self._run(f"delete from {table} where {key} = ?", *deleted)
                if changed := [(it.id, it.document, it.changed_at, at.resync) for it in of_kind if it.document is not None]:
                    self._run(
                        f"insert into {table} ({key}, document, changed_at, resync) values (?, ?, ?, ?)"
                        f" on conflict ({key}) do update set"
                        " document = excluded.document, changed_at = excluded.changed_at, resync = excluded.resync",
                        *changed,
                    )

    def end(self, at: Position) -> None:
        with self._transaction():
            self._move(at, Position(at.cursor, None))
            for table, _ in _TABLES.values():
                self._run(f"delete from {table} where coalesce(resync, '') <> ?", (at.resync,))

    def _move(self, at: Position, to: Position) -> None:
        """Runs first in each transaction, because it locks the row: of two concurrent syncs, the second finds another position."""
        moved = self._run(
            "update call_research_sync set cursor = ?, resync = ? where coalesce(cursor, '') = ? and coalesce(resync, '') = ?",
            (to.cursor, to.resync, at.cursor or "", at.resync or ""),
        )
        if moved.rowcount != 1:
            raise ProtocolError("Another sync works on this copy. Run one sync of a copy at a time.")

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SqliteStore(_SqlStore):
    """A copy in a SQLite file, in the tables `call_research_*`. Creates missing tables."""

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        super().__init__("text")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._db.execute("rollback")
            raise
        self._db.execute("commit")

    def _run(self, statement: LiteralString, *rows: Sequence[str | None]) -> sqlite3.Cursor:
        return self._db.executemany(statement, rows) if rows else self._db.execute(statement)

    def close(self) -> None:
        self._db.close()


class PostgresStore(_SqlStore):
    """A copy in PostgreSQL, in the tables `call_research_*`. Creates missing tables.

    `address` is what libpq takes, such as `postgresql://user@host/database`. Needs psycopg: `call-research-client[postgres]`.
    """

    def __init__(self, address: str) -> None:
        import psycopg

        self._db: psycopg.Connection[Any] = psycopg.connect(address, autocommit=True)
        # `jsonb` would reformat numbers and reorder keys.
        super().__init__("json")

    def _transaction(self) -> AbstractContextManager[object]:
        return self._db.transaction()

    def _run(self, statement: LiteralString, *rows: Sequence[str | None]) -> "psycopg.Cursor[Any]":
        cursor = self._db.cursor()
        if rows:
            cursor.executemany(statement.replace("?", "%s"), rows)
            return cursor
        return cursor.execute(statement)

    def close(self) -> None:
        self._db.close()
