"""Sends a request until it is answered: retries, waits, and the hold that a 429 puts on all calls of a client."""

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

MAX_WAIT = 120.0
"""Seconds. A longer wait isn't begun: a script would seem to hang."""


@dataclass(frozen=True)
class Options:
    timeout: float
    max_retries: int
    budget: float


@dataclass(frozen=True)
class Answer:
    status: int
    headers: httpx2.Headers
    body: bytes
    request_ids: list[str]
    """Of all tries, oldest first."""

    def json(self) -> Any:
        """Raises ProtocolError where the body is not JSON."""
        try:
            return json.loads(self.body)
        except ValueError as cause:
            raise self.broken("is not JSON") from cause

    def broken(self, problem: str) -> errors.ProtocolError:
        """The error of an answer that was sent as a success and can't be used."""
        return errors.ProtocolError(
            f"The answer {problem}. Check that base_url is the address of the API.",
            status=self.status,
            request_ids=self.request_ids,
        )


class _Hold:
    """The time before which no call of a client sends a request. Threads share it."""

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
    """One client's connections and its hold. Threads may share it."""

    def __init__(self, base_url: str, headers: Mapping[str, str]) -> None:
        self.base_url = base_url.rstrip("/")
        self._http = httpx2.Client(headers=headers)
        self._hold = _Hold()

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
    ) -> Answer:
        """The answer, of status 200 to 299, or 304. Raises CallResearchError once it is no use to try again."""
        request = self._http.build_request(method, self.base_url + path, params=params, headers=headers, json=body)
        deadline = time.monotonic() + options.budget
        ids: list[str] = []
        for further in range(options.max_retries, -1, -1):
            self._wait_out_hold(deadline, ids)
            asked: float | None = None
            cause: Exception | None = None
            try:
                answer = self._try(request, min(options.timeout, max(0.1, deadline - time.monotonic())), ids)
            except httpx2.RequestError as cut:
                cause = cut
                error: errors.CallResearchError = errors.ConnectionError(
                    f"{method} {path} got no whole answer: {cut or type(cut).__name__}", request_ids=ids
                )
            else:
                if 200 <= answer.status < 300 or answer.status == 304:
                    return answer
                asked = _asked_wait(answer)
                error = _error_of(answer, asked)
                # 409: the service still works on this Idempotency-Key. Only after an earlier try it can be this very call.
                is_own_twin = answer.status == 409 and further < options.max_retries
                if answer.status not in (408, 429) and answer.status < 500 and not is_own_twin:
                    raise error
            if asked is None:
                wait = min(8.0, 0.5 * 2.0 ** (options.max_retries - further)) * random.uniform(0.5, 1)
            else:
                wait = asked + random.uniform(0, 0.25)
            too_long = asked is not None and asked > MAX_WAIT
            if error.status == 429 and not too_long:
                self._hold.extend(asked or wait)
            if further == 0 or too_long or time.monotonic() + wait > deadline:
                raise error from cause
            time.sleep(wait)
        raise AssertionError("the last try returns or raises")

    def _wait_out_hold(self, deadline: float, ids: list[str]) -> None:
        while (remaining := self._hold.remaining()) > 0:
            if time.monotonic() + remaining > deadline:
                raise errors.RateLimitedError(
                    "Another call of this client was told to wait for longer than this call may take.",
                    code="rate_limited",
                    status=429,
                    request_ids=ids,
                    retry_after=math.ceil(remaining),
                )
            time.sleep(remaining + random.uniform(0, 0.25))

    def _try(self, request: httpx2.Request, timeout: float, ids: list[str]) -> Answer:
        """Reads the body piece by piece: httpx2 bounds the time between two pieces, and this bounds the whole."""
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
        return Answer(response.status_code, response.headers, b"".join(pieces), ids)


def _asked_wait(answer: Answer) -> float | None:
    """Seconds to wait by the headers: `Retry-After` as seconds or a date, or for 429 `X-RateLimit-Reset`."""
    after = answer.headers.get("Retry-After", "")
    if after.isdecimal():
        return min(float(after), 1e9)
    reset = answer.headers.get("X-RateLimit-Reset", "")
    # Measured by the server's clock where its answer tells it: the clock of this machine may be wrong.
    now = _seconds(answer.headers.get("Date", "")) or time.time()
    if (until := _seconds(after)) is None and answer.status == 429 and reset.isdecimal():
        until = float(reset)
    return None if until is None else max(0.0, until - now)


def _seconds(date: str) -> float | None:
    """An HTTP date as seconds since 1970, None where it is none."""
    try:
        return parsedate_to_datetime(date).timestamp()
    except ValueError:
        return None


def _error_of(answer: Answer, retry_after: float | None) -> errors.CallResearchError:
    code = "internal_error" if answer.status >= 500 else "rate_limited" if answer.status == 429 else None
    message = f"The answer of status {answer.status} is not one of the API's errors. Check base_url, and any proxy before it."
    try:
        said = json.loads(answer.body)["error"]
        if said["code"] in errors.BY_CODE:
            code, message = said["code"], str(said["message"])
    except (ValueError, KeyError, TypeError):
        pass
    return errors.BY_CODE.get(code or "", errors.ProtocolError)(
        message,
        code=code,
        status=answer.status,
        request_ids=answer.request_ids,
        retry_after=None if retry_after is None else math.ceil(retry_after),
    )
