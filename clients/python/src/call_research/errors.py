"""The errors that the client raises. Each is a `CallResearchError`."""

from collections.abc import Sequence

from .types import LineError


class CallResearchError(Exception):
    """A request that failed, after all retries.

    `code` is the API's code and `status` the HTTP status; both are None if no response arrived. `request_ids` has the id of each
    attempt that got a response, oldest first: quote them when you ask for help. `retry_after` is the number of seconds after
    which the API says to try again, or None. `details` names the refused records after `records(..., on_refusal="abort")`.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        status: int | None = None,
        request_ids: Sequence[str] = (),
        retry_after: int | None = None,
        details: Sequence[LineError] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status
        self.request_ids = tuple(request_ids)
        self.retry_after = retry_after
        self.details = tuple(details)

    def __str__(self) -> str:
        details = [self.code, self.status and f"status {self.status}", *(f"request {it}" for it in self.request_ids[-1:])]
        shown = ", ".join(str(detail) for detail in details if detail)
        return f"{self.message} ({shown})" if shown else self.message


class BadRequestError(CallResearchError):
    """Code `bad_request`: the message names what is wrong with the request."""


class UnauthorizedError(CallResearchError):
    """Code `unauthorized`: the API key is missing, mistyped, expired or revoked."""


class NotFoundError(CallResearchError):
    """Code `not_found`: the resource doesn't exist, or the organization or the key may not use it."""


class RateLimitedError(CallResearchError):
    """Code `rate_limited`: the retries are used up, or the wait is too long. `retry_after` says when to try again."""


class ServerError(CallResearchError):
    """Code `internal_error`, or any status from 500 on, after the last attempt."""


class ConnectionError(CallResearchError):
    """The last attempt got no complete response in time. `__cause__` is the error of httpx2."""


class ProtocolError(CallResearchError):
    """The API, or a proxy in front of it, violated the API's contract. Going on could corrupt a copy."""


BY_CODE: dict[str, type[CallResearchError]] = {
    "bad_request": BadRequestError,
    "unauthorized": UnauthorizedError,
    "not_found": NotFoundError,
    "rate_limited": RateLimitedError,
    "internal_error": ServerError,
}
