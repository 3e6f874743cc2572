"""What the client raises. Every error is a `CallResearchError`."""

from collections.abc import Sequence


class CallResearchError(Exception):
    """A request that failed for good.

    `code` is the API's code, `status` the HTTP status; both are None where no answer said one. `request_ids` has the id of
    each try that got an answer, oldest first: quote them when you ask for help. `retry_after` is the time in seconds after
    which the API asks to try again, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        status: int | None = None,
        request_ids: Sequence[str] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status
        self.request_ids = tuple(request_ids)
        self.retry_after = retry_after

    def __str__(self) -> str:
        facts = [self.code, self.status and f"status {self.status}", *(f"request {it}" for it in self.request_ids[-1:])]
        shown = ", ".join(str(fact) for fact in facts if fact)
        return f"{self.message} ({shown})" if shown else self.message


class BadRequestError(CallResearchError):
    """Code `bad_request`: the message names what is wrong with the request."""


class UnauthorizedError(CallResearchError):
    """Code `unauthorized`: the API key is missing, mistyped, expired or revoked."""


class NotFoundError(CallResearchError):
    """Code `not_found`: the thing doesn't exist, or the organization or the key may not use it."""


class RateLimitedError(CallResearchError):
    """Code `rate_limited`: the tries are used up, or the wait is too long. `retry_after` says when to come back."""


class ServerError(CallResearchError):
    """Code `internal_error`, or any status from 500 on, after the last try."""


class ConnectionError(CallResearchError):
    """The last try got no answer or half of one, or took too long. `__cause__` is the error of httpx2."""


class ProtocolError(CallResearchError):
    """The API, or a proxy before it, broke a promise that the client relies on. Going on could spoil a copy."""


BY_CODE: dict[str, type[CallResearchError]] = {
    "bad_request": BadRequestError,
    "unauthorized": UnauthorizedError,
    "not_found": NotFoundError,
    "rate_limited": RateLimitedError,
    "internal_error": ServerError,
}
