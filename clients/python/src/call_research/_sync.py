"""Brings a copy up to date."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from .errors import BadRequestError, ProtocolError
from .stores import Position, RecordType, Store, StoredChange

RECORDS: tuple[RecordType, ...] = ("call", "project", "entity")
TYPES = ("access.changed", *(f"{record}.{kind}" for record in RECORDS for kind in ("changed", "deleted")))
MAX_FULL_RESYNCS = 10
"""Per sync. People change settings rarely, so more full resyncs than this would never end."""

ReadPage = tuple[dict[str, Any], list[str | None]]
"""A page of changes, and for each change the JSON text of its record."""


@dataclass
class SyncResult:
    """Counts of one sync: stored and deleted records of all types, and full resyncs that were started."""

    changed: int = 0
    deleted: int = 0
    full_resyncs: int = 0


def sync(store: Store, fetch: Callable[[str | None], ReadPage]) -> SyncResult:
    """Applies pages of changes until there are no more. Raises ProtocolError if going on could corrupt the copy.

    `fetch` requests the page after a cursor, with details; None stands for the first page.
    """
    result = SyncResult()

    def begin(at: Position) -> Position:
        if result.full_resyncs == MAX_FULL_RESYNCS:
            raise ProtocolError(f"All records followed again {MAX_FULL_RESYNCS} times in one sync. Try again later.")
        result.full_resyncs += 1
        resync = secrets.token_hex(8)
        store.begin(at, resync)
        return Position(None, resync)

    at = store.load()
    if at == Position(None, None):
        at = begin(at)
    while True:
        try:
            response, documents = fetch(at.cursor)
        except BadRequestError as error:
            if at.cursor is None or error.status != 400:
                raise
            # The copy keeps its cursor until a request without it succeeds, which shows that the cursor was at fault.
            response, documents = fetch(None)
            at = begin(at)
        next_cursor: str = response["next_cursor"]
        changes, follow_again = _changes_of(response["data"], documents)
        if follow_again:
            at = begin(at)
        store.apply(at, changes, next_cursor)
        at = Position(next_cursor, at.resync)
        deleted = sum(change.document is None for change in changes)
        result.changed += len(changes) - deleted
        result.deleted += deleted
        if not response["has_more"]:
            if at.resync is not None:
                store.end(at)
            return result


def check(page: Mapping[str, Any], cursor: str | None) -> None:
    """Raises ProtocolError if applying the page of a cursor would never end, or would corrupt the copy."""
    for change in page["data"]:
        if change["type"] not in TYPES:
            raise ProtocolError(f"{change['type']!r} is a type of change that this version doesn't know. Install a newer one.")
    if not isinstance(page["next_cursor"], str):
        raise ProtocolError("The page of changes has no next_cursor.")
    if page["has_more"] and page["next_cursor"] == cursor:
        raise ProtocolError("There are more changes, but next_cursor is the cursor that was sent.")


def _changes_of(changes: list[dict[str, Any]], documents: list[str | None]) -> tuple[list[StoredChange], bool]:
    """Returns each record's last change, and whether there is an `access.changed`: then, only those after it."""
    stored: dict[tuple[str, str], StoredChange] = {}
    follow_again = False
    for change, document in zip(changes, documents, strict=True):
        record, kind = change["type"].split(".")
        if record == "access":
            follow_again = True
            stored.clear()
            continue
        record_id = change.get(f"{record}_id")
        if record_id is None or (kind == "changed" and document is None):
            raise ProtocolError(f"A change of type {change['type']} lacks its id or its record.")
        text = document if kind == "changed" else None
        stored[record, record_id] = StoredChange(cast(RecordType, record), record_id, change["changed_at"], text)
    return list(stored.values()), follow_again
