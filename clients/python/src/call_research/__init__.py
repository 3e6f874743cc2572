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
from .stores import ChangedCall, Page, Position, PostgresStore, SqliteStore, Store

__all__ = [
    "BadRequestError",
    "CallResearchError",
    "ChangedCall",
    "Client",
    "ConnectionError",
    "Include",
    "NotFoundError",
    "Page",
    "Position",
    "PostgresStore",
    "ProtocolError",
    "RateLimitedError",
    "ServerError",
    "SqliteStore",
    "Store",
    "SyncResult",
    "UnauthorizedError",
]
