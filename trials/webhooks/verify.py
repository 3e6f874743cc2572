"""Reads a message of a webhook from each line, with its secret and headers, and verifies it. At the end, prints how many were valid, and why others weren't."""

import json
import sys

from standardwebhooks.webhooks import Webhook

verified = 0
faults: list[str] = []
for line in sys.stdin:
    message = json.loads(line)
    try:
        Webhook(message["secret"]).verify(message["body"], message["headers"])
        verified += 1
    except Exception as error:
        faults.append(f"the message {message['headers'].get('webhook-id')} is not valid by Python: {error}")
print(json.dumps({"verified": verified, "faults": faults}))
