"""Client of the Call Research Service's REST API. Begin with `Client`; `call_research.types` has the shapes of answers."""

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
