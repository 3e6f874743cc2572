"""Client of the Call Research Service's REST API. Start with `Client`; `call_research.types` has the types of bodies."""

from ._sync import SyncResult as SyncResult
from ._webhook import verify_webhook as verify_webhook
from .client import Client as Client, Include as Include
from .errors import (
    BadRequestError as BadRequestError,
    CallResearchError as CallResearchError,
    ConnectionError as ConnectionError,
    NotFoundError as NotFoundError,
    ProtocolError as ProtocolError,
    RateLimitedError as RateLimitedError,
    ServerError as ServerError,
    UnauthorizedError as UnauthorizedError,
)
from .stores import Position as Position, PostgresStore as PostgresStore, RecordType as RecordType
from .stores import SqliteStore as SqliteStore, Store as Store, StoredChange as StoredChange
