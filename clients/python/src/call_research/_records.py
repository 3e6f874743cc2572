"""Sends records in batches, one after the other, so that a record may refer to earlier ones."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping

from ._transport import RawResponse
from .errors import BadRequestError
from .types import LineError, RecordsResult

# The API's limits.
MAX_LINE_BYTES = 8 * 1024 * 1024
MAX_BATCH_LINES = 1_000
MAX_BATCH_BYTES = 16 * 1024 * 1024


def send_records(send: Callable[[bytes], RawResponse], records: Iterable[Mapping[str, object]]) -> RecordsResult:
    result = RecordsResult(lines=0, accepted=0, unchanged=0, refused=0, errors=[])
    for start, body in batches(records):
        try:
            done: RecordsResult = send(body).json()
        except BadRequestError as error:
            error.details = tuple(_shift(refusal, start) for refusal in error.details)
            raise
        result["lines"] += done["lines"]
        result["accepted"] += done["accepted"]
        result["unchanged"] += done["unchanged"]
        result["refused"] += done["refused"]
        result["errors"] += [_shift(refusal, start) for refusal in done["errors"]]
    return result


def batches(records: Iterable[Mapping[str, object]]) -> Iterator[tuple[int, bytes]]:
    """Yields the number of records before each batch, and its body."""
    start, size = 0, 0
    lines: list[bytes] = []
    for record in records:
        # A lone surrogate, which UTF-8 can't encode, becomes an escape of JSON.
        text = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        line = text.encode(errors="backslashreplace") + b"\n"
        if len(line) - 1 > MAX_LINE_BYTES:
            raise BadRequestError(f"line {start + len(lines) + 1}: must be at most 8 MiB long")
        if len(lines) == MAX_BATCH_LINES or size + len(line) > MAX_BATCH_BYTES:
            yield start, b"".join(lines)
            start, size, lines = start + len(lines), 0, []
        lines.append(line)
        size += len(line)
    if lines:
        yield start, b"".join(lines)


def _shift(refusal: LineError, start: int) -> LineError:
    return {**refusal, "line": refusal["line"] + start}
