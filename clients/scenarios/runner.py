"""Does one action with the Python client: see "Protocol of a runner" in README.md."""

import dataclasses
import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from call_research import CallResearchError, Client, PostgresStore, SqliteStore


def client_of(asked: dict[str, Any]) -> Client:
    names = {"max_retries": "max_retries", "timeout_seconds": "timeout", "budget_seconds": "budget"}
    options = {names[name]: value for name, value in asked.get("client", {}).items()}
    return Client(asked["base_url"], asked["key"], **options)


def get_call(client: Client, asked: dict[str, Any]) -> list[Any]:
    return [client.get_call(asked["call_id"], **asked.get("query", {})) for _ in range(asked.get("times", 1))]


def get_calls(client: Client, asked: dict[str, Any]) -> list[Any]:
    with ThreadPoolExecutor(len(asked["call_ids"])) as threads:
        return list(threads.map(client.get_call, asked["call_ids"]))


def create_project(client: Client, asked: dict[str, Any]) -> Any:
    return client.create_project(**asked["project"], idempotency_key=asked.get("idempotency_key"))


def sync(client: Client, asked: dict[str, Any]) -> dict[str, int]:
    address: str = asked["store"]
    path = address.removeprefix("sqlite:")
    with PostgresStore(address) if path == address else SqliteStore(path) as store:
        return dataclasses.asdict(client.sync(store, **asked.get("query", {})))


ACTIONS: dict[str, Callable[[Client, dict[str, Any]], Any]] = {
    "calls": lambda client, asked: list(client.calls(**asked["query"])),
    "changes": lambda client, asked: list(client.changes(**asked.get("query", {}))),
    "get_call": get_call,
    "get_calls": get_calls,
    "billing_offices": lambda client, asked: client.billing_offices(),
    "create_project": create_project,
    "get_project": lambda client, asked: client.get_project(asked["project_id"]),
    "sync": sync,
}


def main() -> None:
    asked = json.load(sys.stdin)
    try:
        with client_of(asked) as client:
            output = {"result": ACTIONS[asked["action"]](client, asked)}
    except CallResearchError as error:
        facts = {name: getattr(error, name) for name in ("code", "status", "message", "request_ids", "retry_after")}
        output = {"error": {"type": type(error).__name__, **facts}}
    json.dump(output, sys.stdout)


main()
