"""Verifies messages of webhooks, which are signed as Standard Webhooks defines."""

import base64
import hmac
import json
import time
from collections.abc import Mapping

from .types import CallsChangedMessage, PingMessage


def verify_webhook(body: bytes, headers: Mapping[str, str], secret: str) -> CallsChangedMessage | PingMessage:
    """Returns the message of a webhook. `body` is exactly as received, `secret` is `whsec_...`.

    Raises ValueError if it isn't signed with the secret, or the delivery is more than 5 minutes old.
    """
    values = {name.lower(): value for name, value in headers.items()}
    sent = values.get("webhook-timestamp", "")
    if not sent.isdecimal() or abs(time.time() - int(sent)) > 300:
        raise ValueError("webhook-timestamp is too old or missing")
    signed = f"{values.get('webhook-id')}.{sent}.".encode() + body
    mac = hmac.digest(base64.b64decode(secret.removeprefix("whsec_")), signed, "sha256")
    expected = b"v1," + base64.b64encode(mac)
    signatures = values.get("webhook-signature", "").encode().split()
    if not any(hmac.compare_digest(expected, signature) for signature in signatures):
        raise ValueError("webhook-signature is not valid")
    message: CallsChangedMessage | PingMessage = json.loads(body)
    return message
