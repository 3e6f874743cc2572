"""Sends requests: retries, waits between them, and the wait that a 429 imposes on all calls of a client."""

import json
import math
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2

from . import errors
from .types import LineError

MAX_WAIT = 120.0
"""Seconds. During a longer wait, a script would seem to hang."""


@dataclass(frozen=True)
class Options:
    timeout: float
    max_retries: int
    budget: float


@dataclass(frozen=True)
class RawResponse:
    status: int
    headers: httpx2.Headers
    body: bytes
    request_ids: list[str]
    """Of all attempts, oldest first."""

    def json(self) -> Any:
        """Raises ProtocolError if the body is not JSON."""
        try:
            return json.loads(self.body)
        except ValueError as cause:
            raise self.broken("is not JSON") from cause

    def broken(self, problem: str) -> errors.ProtocolError:
        """Returns the error for a successful response with an unusable body."""
        return errors.ProtocolError(
            f"The response {problem}. Check that base_url is the address of the API.",
            status=self.status,
            request_ids=self.request_ids,
        )


class _Pause:
    """The time until which all calls of a client wait after a 429. Shared by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until = 0.0

    def extend(self, seconds: float) -> None:
        with self._lock:
            self._until = max(self._until, time.monotonic() + seconds)

    def remaining(self) -> float:
        with self._lock:
            return self._until - time.monotonic()


class Transport:
    """The connections of one client, and its wait after a 429. Threads may share it."""

    def __init__(self, base_url: str, headers: Mapping[str, str]) -> None:
        self.base_url = base_url.rstrip("/")
        self._http = httpx2.Client(headers=headers)
        self._pause = _Pause()

    def close(self) -> None:
        self._http.close()

    def send(
        self,
        options: Options,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: object = None,
        content: bytes | None = None,
    ) -> RawResponse:
        """Returns a response with a status of 200 to 299 or 304. Raises CallResearchError if retries can't help."""
        request = self._http.build_request(method, self.base_url + path, params=params, headers=headers, json=body, content=content)
        deadline = time.monotonic() + options.budget
        ids: list[str] = []
        for further in range(options.max_retries, -1, -1):
            self._wait_out_pause(deadline, ids)
            retry_after: float | None = None
            cause: Exception | None = None
            try:
                response = self._try(request, min(options.timeout, max(0.1, deadline - time.monotonic())), ids)
            except httpx2.RequestError as cut:
                cause = cut
                error: errors.CallResearchError = errors.ConnectionError(
                    f"{method} {path} got no complete response: {cut or type(cut).__name__}", request_ids=ids
                )
            else:
                if 200 <= response.status < 300 or response.status == 304:
                    return response
                retry_after = _retry_after_of(response)
                error = _error_of(response, retry_after)
                # A 409 without Retry-After is a refusal, such as by a legal hold. With it, our own earlier attempt may be in progress.
                is_own_attempt = response.status == 409 and retry_after is not None and further < options.max_retries
                if response.status not in (408, 429) and response.status < 500 and not is_own_attempt:
                    raise error
            if retry_after is None:
                wait = min(8.0, 0.5 * 2.0 ** (options.max_retries - further)) * random.uniform(0.5, 1)
            else:
                wait = retry_after + random.uniform(0, 0.25)
            too_long = retry_after is not None and retry_after > MAX_WAIT
            if error.status == 429 and not too_long:
                self._pause.extend(retry_after or wait)
            if further == 0 or too_long or time.monotonic() + wait > deadline:
                raise error from cause
            time.sleep(wait)
        raise AssertionError("the last try returns or raises")

    def _wait_out_pause(self, deadline: float, ids: list[str]) -> None:
        while (remaining := self._pause.remaining()) > 0:
            if time.monotonic() + remaining > deadline:
                raise errors.RateLimitedError(
                    "Another call of this client was told to wait for longer than this call may take.",
                    code="rate_limited",
                    status=429,
                    request_ids=ids,
                    retry_after=math.ceil(remaining),
                )
            time.sleep(remaining + random.uniform(0, 0.25))

    def _try(self, request: httpx2.Request, timeout: float, ids: list[str]) -> RawResponse:
        """Reads the body in pieces to bound the time of the whole attempt: httpx2 bounds only the time between two pieces."""
        deadline = time.monotonic() + timeout
        request.extensions = {**request.extensions, "timeout": httpx2.Timeout(timeout).as_dict()}
        response = self._http.send(request, stream=True)
        ids += response.headers.get_list("X-Request-Id")
        try:
            pieces = []
            for piece in response.iter_bytes():
                pieces.append(piece)
                if time.monotonic() > deadline:
                    raise httpx2.ReadTimeout("the time for one try is over", request=request)
        finally:
            response.close()
        return RawResponse(response.status_code, response.headers, b"".join(pieces), ids)


def _retry_after_of(response: RawResponse) -> float | None:
    """Returns the seconds to wait: from `Retry-After`, as seconds or a date, or for a 429 from `X-RateLimit-Reset`."""
    after = response.headers.get("Retry-After", "")
    if after.isdecimal():
        return min(float(after), 1e9)
    reset = response.headers.get("X-RateLimit-Reset", "")
    # Prefers the server's clock, because this machine's may be wrong.
    now = _seconds(response.headers.get("Date", "")) or time.time()
    if (until := _seconds(after)) is None and response.status == 429 and reset.isdecimal():
        until = float(reset)
    return None if until is None else max(0.0, until - now)


def _seconds(date: str) -> float | None:
    """Parses an HTTP date to seconds since 1970. Returns None for any other text."""
    try:
        return parsedate_to_datetime(date).timestamp()
    except ValueError:
        return None


def _error_of(response: RawResponse, retry_after: float | None) -> errors.CallResearchError:
    code = "internal_error" if response.status >= 500 else "rate_limited" if response.status == 429 else None
    message = f"The response with status {response.status} is not one of the API's errors. Check base_url, and any proxy before it."
    details: list[LineError] = []
    try:
        error = json.loads(response.body)["error"]
        if error["code"] in errors.BY_CODE:
            code, message = error["code"], str(error["message"])
            details = error.get("details", [])
    except (ValueError, KeyError, TypeError):
        pass
    return errors.BY_CODE.get(code or "", errors.ProtocolError)(
        message,
        code=code,
        status=response.status,
        request_ids=response.request_ids,
        retry_after=None if retry_after is None else math.ceil(retry_after),
        details=details,
    )
