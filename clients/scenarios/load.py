"""Loads an organization's records into DuckDB with the dlt source, and prints the rows as records.

Each line of the input is a JSON object with `base_url`, `key`, `database` (a file), `dataset`, `directory` (dlt's own) and
optionally `extract_only`, as if the program were killed before the load. Prints a line `{TABLE: {ID: RECORD}}` for each.
"""

import json
import sys
from datetime import UTC, datetime
from typing import Any

import dlt
import duckdb

from call_research.dlt import call_research_source


def load(request: dict[str, Any]) -> None:
    pipeline = dlt.pipeline(
        pipeline_name=request["dataset"],
        pipelines_dir=request["directory"],
        destination=dlt.destinations.duckdb(request["database"]),
        dataset_name=request["dataset"],
    )
    run = pipeline.extract if request.get("extract_only") else pipeline.run
    run(call_research_source(request["base_url"], request["key"]))


def text_of(value: Any) -> Any:
    if not isinstance(value, datetime):
        return value
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def record_of(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a row as the record that it was loaded from, but without nulls and without nested tables."""
    record: dict[str, Any] = {}
    for column, value in row.items():
        if value is None or column.startswith("_dlt"):
            continue
        *parents, name = column.split("__")
        target = record
        for parent in parents:
            target = target.setdefault(parent, {})
        target[name] = text_of(value)
    return record


def read(database: str, dataset: str) -> dict[str, dict[str, Any]]:
    """Returns the records of each root table by id. Raises KeyError if a row's parent is missing, and ValueError if a record occurs twice."""
    records: dict[str, dict[str, Any]] = {}
    by_row: dict[str, dict[str, Any]] = {}
    with duckdb.connect(database, read_only=True) as db:
        query = "select table_name from information_schema.tables where table_schema = ? order by length(table_name)"
        for (table,) in db.execute(query, [dataset]).fetchall():
            if table.startswith("_dlt"):
                continue
            parent, _, name = table.rpartition("__")
            order = " order by _dlt_list_idx" if parent else ""
            result = db.execute(f'select * from "{dataset}"."{table}"{order}')
            columns = [column[0] for column in result.description or []]
            if not parent:
                records[table] = {}
            for values in result.fetchall():
                row = dict(zip(columns, values, strict=True))
                record = by_row[row["_dlt_id"]] = record_of(row)
                if parent:
                    by_row[row["_dlt_parent_id"]].setdefault(name, []).append(record)
                    continue
                key = next(row[column] for column in columns if column.endswith("_id"))
                if key in records[table]:
                    raise ValueError(f"{table} has {key} twice")
                records[table][key] = record
    return records


for line in sys.stdin:
    request = json.loads(line)
    load(request)
    print(json.dumps({} if request.get("extract_only") else read(request["database"], request["dataset"])), flush=True)
