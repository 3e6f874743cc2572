"""Client of the Call Research Service's REST API. Start with `Client`; `call_research.types` has the types of bodies."""

from ._sync import SyncResult
from .client import Client, Include
from .errors import (
    BadRequestError,
    CallResearchError,
    ConnectionError,
    NotFoundError,
    ProtocolError,
    RateLimitedError,
    ServerError,
    UnauthorizedError,
)
from .stores import Position, PostgresStore, RecordType, SqliteStore, Store, StoredChange

__all__ = [
    "BadRequestError",
    "CallResearchError",
    "Client",
    "ConnectionError",
    "Include",
    "NotFoundError",
    "Position",
    "PostgresStore",
    "ProtocolError",
    "RateLimitedError",
    "RecordType",
    "ServerError",
    "SqliteStore",
    "Store",
    "StoredChange",
    "SyncResult",
    "UnauthorizedError",
]
