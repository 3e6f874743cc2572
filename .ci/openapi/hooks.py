"""Teaches Schemathesis the media type of `POST /records`, whose schema is a text."""

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def json_lines(_ctx, value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
