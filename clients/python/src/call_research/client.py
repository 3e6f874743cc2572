"""The client of the REST API."""

import copy
import re
import threading
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from typing import Any, Literal, NotRequired, Self, TypedDict, Unpack, cast, overload
from urllib.parse import quote

from . import _sync
from ._pages import read_page
from ._records import send_records
from ._sync import SyncResult
from ._transport import RawResponse, Options, Transport
from .stores import RecordType, Store
from .types import BillingOffice, Call, CallListItem, Change, ChangeList, Entity, NewProject, Project, ProjectListItem, RecordsResult

CACHE_BYTES = 32 * 1024 * 1024
"""The maximum size of the bodies in the cache of one client."""


class Include(TypedDict):
    """The transcripts to include. All are included by default, if the organization is enabled for them."""

    include_verbatim: NotRequired[bool]
    include_redacted: NotRequired[bool]
    include_clean: NotRequired[bool]


class ListQuery(TypedDict):
    """Which calls: created at `start_date` or later, and before `end_date`. Datetimes have a time zone."""

    start_date: datetime | str
    end_date: datetime | str
    updated_since: NotRequired[datetime | str]
    per_page: NotRequired[int]


class DetailQuery(ListQuery, Include):
    """Which calls, each in full."""

    expand: Literal["detail"]


class ChangesQuery(Include):
    """How many changes are on a page, of which types of records, and whether they come with their records in full."""

    limit: NotRequired[int]
    types: NotRequired[Sequence[RecordType]]
    expand: NotRequired[Literal["detail"]]


class _Cache:
    """Caches responses with their ETags by URL. Drops the least recently used ones first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._responses: OrderedDict[str, tuple[str, RawResponse]] = OrderedDict()
        self._bytes = 0

    def get(self, address: str) -> tuple[str, RawResponse] | None:
        with self._lock:
            if known := self._responses.get(address):
                self._responses.move_to_end(address)
            return known

    def put(self, address: str, etag: str, response: RawResponse) -> None:
        with self._lock:
            if old := self._responses.pop(address, None):
                self._bytes -= len(old[1].body)
            self._responses[address] = (etag, response)
            self._bytes += len(response.body)
            while self._bytes > CACHE_BYTES:
                _, (_, oldest) = self._responses.popitem(last=False)
                self._bytes -= len(oldest.body)


class Client:
    """A client of the Call Research Service for one organization. Threads may share it.

    It retries transient errors, and waits as long as the API says, at most 120 s. After a 429, all calls of the client wait.
    All methods raise CallResearchError; see `call_research.errors`.
    """

    def __init__(self, base_url: str, api_key: str, *, timeout: float = 30, max_retries: int = 5, budget: float = 300):
        """`base_url` ends in `/v1`. `timeout` is for one attempt, `budget` for all attempts and waits of a call, both in seconds."""
        if not re.match(r"https?://[^/]", base_url):
            raise ValueError("base_url: must begin with https:// or http://, such as https://api.example.com/v1")
        if not re.fullmatch(r"[!-~]+", api_key):
            raise ValueError("api_key: must be printable ASCII without spaces")
        headers = {
            "Authorization": f"Bearer {api_key}",
            "Accept": "application/json",
            "User-Agent": f"call-research-client-python/{version('call-research-client')}",
        }
        self._transport = Transport(base_url, headers)
        self._options = Options(timeout, max_retries, budget)
        self._cache = _Cache()

    def with_options(
        self, *, timeout: float | None = None, max_retries: int | None = None, budget: float | None = None
    ) -> Self:
        """Returns this client with other options, as in `client.with_options(timeout=5).get_call(...)`.

        Both clients share connections, the wait after a 429, and the cache. Closing one closes both.
        """
        given: dict[str, Any] = {"timeout": timeout, "max_retries": max_retries, "budget": budget}
        other = copy.copy(self)
        other._options = replace(self._options, **{name: value for name, value in given.items() if value is not None})
        return other

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @overload
    def calls(self, **query: Unpack[ListQuery]) -> Iterator[CallListItem]: ...

    @overload
    def calls(self, **query: Unpack[DetailQuery]) -> Iterator[Call]: ...

    def calls(self, **query: Any) -> Iterator[Any]:
        """Yields the calls created from `start_date` on and before `end_date`, newest first, page by page.

        If calls are created or deleted meanwhile, a call may be yielded twice or not at all. `sync` has no such gap.
        """
        page = 1
        if "expand" not in query:
            query = {"per_page": 200, **query}
        while True:
            response = self._get("/calls", {**query, "page": page})
            listed = response.json()
            yield from listed["data"]
            if page >= listed["pagination"]["total_pages"]:
                return
            page += 1

    def get_call(self, call_id: str, **include: Unpack[Include]) -> Call:
        """Returns a call in full. The client caches it with its ETag, so the API doesn't send an unchanged call again."""
        return cast(Call, self._get(f"/calls/{_segment(call_id)}", include, cached=True).json())

    def changes(self, cursor: str | None = None, **query: Unpack[ChangesQuery]) -> Iterator[Change]:
        """Yields the changes after `cursor`, or every record and its later changes without one, until there are no more.

        A cursor belongs to a page. To continue later from where you stopped, use `sync` or `change_page`.
        """
        while True:
            page = self.change_page(cursor, **query)
            yield from page["data"]
            if not page["has_more"]:
                return
            cursor = page["next_cursor"]

    def change_page(self, cursor: str | None = None, **query: Unpack[ChangesQuery]) -> ChangeList:
        """Returns one page of changes, for a loop of your own. Store `next_cursor` in one transaction with the changes."""
        page, _ = self._change_page(cursor, query)
        return cast(ChangeList, page)

    def records(
        self, records: Iterable[Mapping[str, object]], *, on_refusal: Literal["abort"] | None = None, check: bool = False
    ) -> RecordsResult:
        """Stores and deletes records, which are the lines of an import without `organization`, in their order.

        Sends batches of at most 1,000 records and 16 MiB. Refused records are in the result, and `line` counts all records; with `on_refusal="abort"`, nothing
        of their batch is stored, and BadRequestError is raised. With `check`, nothing is stored, so a record can't
        refer to one of an earlier batch. After an error, earlier batches are stored: send all records again, which changes nothing twice.
        """
        params = {name: value for name, value in (("on_refusal", on_refusal), ("check", "true" if check else None)) if value}

        def send(content: bytes) -> RawResponse:
            headers = {"Content-Type": "application/x-ndjson"}
            return self._transport.send(self._options, "POST", "/records", params=params, headers=headers, content=content)

        return send_records(send, records)

    def sync(
        self, store: Store, *, limit: int = 50, types: Sequence[RecordType] | None = None, **include: Unpack[Include]
    ) -> SyncResult:
        """Brings a copy up to date: the first sync stores all records of `types`, later ones apply what has changed.

        Without `types`, the copy has calls alone. The first sync after a change of `types` is a full resync.

        After an interruption, the next sync continues. Run one sync of a copy at a time. Raises ProtocolError if going on could
        corrupt the copy, for example at a type of change that this version doesn't know.
        """

        def fetch(cursor: str | None) -> _sync.ReadPage:
            return self._change_page(cursor, {"limit": limit, "types": types, "expand": "detail", **include})

        return _sync.sync(store, fetch)

    def _change_page(self, cursor: str | None, query: Mapping[str, object]) -> _sync.ReadPage:
        response = self._get("/changes", {"cursor": cursor, **query})
        try:
            page, documents = read_page(response.body.decode())
            _sync.check(page, cursor)
        except (ValueError, TypeError, KeyError) as cause:
            raise response.broken("is not a page of changes") from cause
        return page, documents

    def projects(self) -> Iterator[ProjectListItem]:
        """Yields the organization's projects without their people, newest first, page by page. Needs the write surface."""
        return self._list("/projects")

    def entities(self) -> Iterator[Entity]:
        """Yields the organization's entities, newest first, page by page."""
        return self._list("/entities")

    def _list(self, path: str) -> Iterator[Any]:
        cursor: str | None = None
        while True:
            response = self._get(path, {"limit": 1000, "cursor": cursor})
            page = response.json()
            yield from page["data"]
            if page["next_cursor"] is None:
                return
            if page["next_cursor"] == cursor:
                raise response.broken("has the cursor that was sent")
            cursor = page["next_cursor"]

    def billing_offices(self) -> list[BillingOffice]:
        """Returns the billing offices, the default first. Needs the write surface."""
        return cast(list[BillingOffice], self._get("/billing-offices").json()["data"])

    def create_project(self, *, idempotency_key: str | None = None, **project: Unpack[NewProject]) -> Project:
        """Creates a project once, even if the request has to be retried. Needs the write surface.

        Pass a key of your own (1 to 255 printable ASCII characters) if a later run of your program may repeat the creation: for
        24 hours, the same key with the same project returns the same response.
        """
        key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
        if not re.fullmatch(r"[ -~]{1,255}", key):
            raise ValueError("idempotency_key: must be 1 to 255 printable ASCII characters")
        response = self._transport.send(self._options, "POST", "/projects", headers={"Idempotency-Key": key}, body=project)
        return cast(Project, response.json())

    def get_project(self, project_id: str) -> Project:
        """Returns a project of the organization. Needs the write surface."""
        return cast(Project, self._get(f"/projects/{_segment(project_id)}").json())

    def _get(self, path: str, query: Mapping[str, object] = {}, *, cached: bool = False) -> RawResponse:
        params = {name: _text(value) for name, value in query.items() if value is not None}
        address = f"{path}?{sorted(params.items())}"
        known = self._cache.get(address) if cached else None
        headers = {"If-None-Match": known[0]} if known else {}
        response = self._transport.send(self._options, "GET", path, params=params, headers=headers)
        if known and response.status == 304:
            return known[1]
        if cached and "ETag" in response.headers:
            self._cache.put(address, response.headers["ETag"], response)
        return response


def _text(value: object) -> str:
    """Formats a value as a query parameter."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("A datetime must have a time zone, such as datetime.timezone.utc.")
        return value.isoformat()
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value)


def _segment(identifier: str) -> str:
    """Escapes an id as a path segment. Escapes dots as well, because `.` and `..` would name another path."""
    if not identifier:
        raise ValueError("An id must not be empty.")
    return quote(identifier, safe="").replace(".", "%2E")
