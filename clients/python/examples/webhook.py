"""Your calls in SQLite, up to date within seconds: each message of the webhook starts a sync.

CRS_API_KEY=crk_... CRS_BASE_URL=https://api.example.com/v1 CRS_WEBHOOK_SECRET=whsec_... python webhook.py calls.db 8090
A proxy in front of it terminates TLS at port 443.
"""

import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Event, Thread

from call_research import Client, SqliteStore, verify_webhook

due = Event()
due.set()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            verify_webhook(body, dict(self.headers), os.environ["CRS_WEBHOOK_SECRET"])
        except ValueError:
            return self.send_error(400)
        self.send_response(204)
        self.end_headers()
        due.set()


with Client(os.environ["CRS_BASE_URL"], os.environ["CRS_API_KEY"]) as client, SqliteStore(sys.argv[1]) as store:
    Thread(target=HTTPServer(("", int(sys.argv[2])), Receiver).serve_forever, daemon=True).start()
    while True:
        due.wait()
        due.clear()
        print(client.sync(store), flush=True)
