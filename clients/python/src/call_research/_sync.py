"""Brings a copy of the calls up to date."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import BadRequestError, ProtocolError
from .stores import ChangedCall, Page, Position, Store

TYPES = ("call.changed", "call.deleted", "access.changed")
MAX_WALKS = 10
"""In one sync. Settings change at the speed of people; more walks than this are a fault that would never end."""

ReadPage = tuple[dict[str, Any], list[str | None]]
"""A page of changes, and beside each change the text of its `call`."""


@dataclass
class SyncResult:
    """Counts of one sync: calls that were replaced, calls that were deleted, and walks that were begun."""

    changed: int = 0
    deleted: int = 0
    walks: int = 0


def sync(store: Store, fetch: Callable[[str | None], ReadPage]) -> SyncResult:
    """`fetch` asks for the page after a cursor, with details; None asks for the first one.

    Applies page after page until there is no more. Raises ProtocolError where going on could spoil the copy.
    """
    result = SyncResult()

    def begin(at: Position) -> Position:
        if result.walks == MAX_WALKS:
            raise ProtocolError(f"All calls followed again {MAX_WALKS} times in one sync. Try again later.")
        result.walks += 1
        walk = secrets.token_hex(8)
        store.begin(at, walk)
        return Position(None, walk)

    at = store.load()
    if at == Position(None, None):
        at = begin(at)
    while True:
        try:
            answer, documents = fetch(at.cursor)
        except BadRequestError as error:
            if at.cursor is None or error.status != 400:
                raise
            # The copy keeps its cursor until an answer without it shows that the cursor was to blame.
            answer, documents = fetch(None)
            at = begin(at)
        next_cursor: str = answer["next_cursor"]
        page, follow_again = _page_of(answer["data"], documents)
        if follow_again:
            at = begin(at)
        store.apply(at, page, next_cursor)
        at = Position(next_cursor, at.walk)
        result.changed += len(page.changed)
        result.deleted += len(page.deleted)
        if not answer["has_more"]:
            if at.walk is not None:
                store.end(at)
            return result


def check(page: Mapping[str, Any], cursor: str | None) -> None:
    """Raises ProtocolError where following the page of a cursor would never end, or would make a wrong copy."""
    for change in page["data"]:
        if change["type"] not in TYPES:
            raise ProtocolError(f"{change['type']!r} is a type of change that this version doesn't know. Install a newer one.")
    if not isinstance(page["next_cursor"], str):
        raise ProtocolError("The page of changes has no next_cursor.")
    if page["has_more"] and page["next_cursor"] == cursor:
        raise ProtocolError("There are more changes, but next_cursor is the cursor that was sent.")


def _page_of(changes: list[dict[str, Any]], documents: list[str | None]) -> tuple[Page, bool]:
    """The page, and whether it has an `access.changed`. The changes before that are dropped: all calls follow again."""
    changed: dict[str, ChangedCall] = {}
    deleted: dict[str, None] = {}
    follow_again = False
    for change, document in zip(changes, documents, strict=True):
        kind, call_id = change["type"], change["call_id"]
        if kind == "access.changed":
            follow_again = True
            changed.clear()
            deleted.clear()
        elif call_id is None or (kind == "call.changed" and document is None):
            raise ProtocolError(f"A change of type {kind} lacks its call_id or its call.")
        elif document is not None:
            deleted.pop(call_id, None)
            changed[call_id] = ChangedCall(call_id, change["changed_at"], document)
        else:
            changed.pop(call_id, None)
            deleted[call_id] = None
    return Page(list(changed.values()), list(deleted)), follow_again
