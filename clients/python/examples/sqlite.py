"""Your calls in SQLite. Run it as often as you like, for example every minute: it continues where it stopped.

CRS_API_KEY=crk_... CRS_BASE_URL=http://127.0.0.1:8080/v1 python sqlite.py calls.db
"""

import os
import sqlite3
import sys

from call_research import Client, SqliteStore

path = sys.argv[1]
with Client(os.environ["CRS_BASE_URL"], os.environ["CRS_API_KEY"]) as client, SqliteStore(path) as store:
    done = client.sync(store)
print(f"{done.changed} calls stored, {done.deleted} removed")

# The copy is an ordinary table. Each document is the JSON text that the API sent.
with sqlite3.connect(path) as db:
    for call_type, calls, minutes in db.execute("""
        select document ->> 'call_type' as call_type, count(*), sum(document ->> 'duration_minutes')
        from call_research_calls group by 1 order by 1"""):
        print(f"{call_type}: {calls} calls, {minutes} minutes")
