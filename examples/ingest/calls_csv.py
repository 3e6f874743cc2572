"""Adds what a CSV file says about calls to the stored calls. All their other properties stay.

CRS_API_KEY=crk_... CRS_BASE_URL=http://127.0.0.1:8080/v1 python calls_csv.py calls.csv

The first line names the columns: `id`, and properties of a call such as `date`, `cost`, `rating` or `segment`. An empty cell keeps
what is stored. Needs a key with the right `ingest`.
"""

import csv
import os
import sys
from collections.abc import Iterator

from call_research import Client

NUMBERS = {"cost", "duration_minutes", "rating"}


def records(path: str) -> Iterator[dict[str, object]]:
    # Excel puts a byte order mark at the start.
    with open(path, newline="", encoding="utf-8-sig") as file:
        for row in csv.DictReader(file):
            cells = {name: float(cell) if name in NUMBERS else cell for name, cell in row.items() if cell}
            yield {"type": "call", "merge": True, **cells}


with Client(os.environ["CRS_BASE_URL"], os.environ["CRS_API_KEY"]) as client:
    result = client.records(records(sys.argv[1]))
for error in result["errors"]:
    print(f"record {error['line']}: {error['field'] or 'the record'} {error['reason']}", file=sys.stderr)
print(f"{result['accepted']} calls changed, {result['unchanged']} unchanged")
sys.exit(1 if result["errors"] else 0)
