"""Runs one action with the Python client: see "Protocol of a runner" in README.md."""

import dataclasses
import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from call_research import CallResearchError, Client, PostgresStore, SqliteStore


def client_of(request: dict[str, Any]) -> Client:
    names = {"max_retries": "max_retries", "timeout_seconds": "timeout", "budget_seconds": "budget"}
    options = {names[name]: value for name, value in request.get("client", {}).items()}
    return Client(request["base_url"], request["key"], **options)


def get_call(client: Client, request: dict[str, Any]) -> list[Any]:
    return [client.get_call(request["call_id"], **request.get("query", {})) for _ in range(request.get("times", 1))]


def get_calls(client: Client, request: dict[str, Any]) -> list[Any]:
    with ThreadPoolExecutor(len(request["call_ids"])) as threads:
        return list(threads.map(client.get_call, request["call_ids"]))


def create_project(client: Client, request: dict[str, Any]) -> Any:
    return client.create_project(**request["project"], idempotency_key=request.get("idempotency_key"))


def records(client: Client, request: dict[str, Any]) -> Any:
    return client.records(iter(request["records"]), on_refusal=request.get("on_refusal"), check=request.get("check", False))


def sync(client: Client, request: dict[str, Any]) -> dict[str, int]:
    address: str = request["store"]
    path = address.removeprefix("sqlite:")
    with PostgresStore(address) if path == address else SqliteStore(path) as store:
        return dataclasses.asdict(client.sync(store, **request.get("query", {})))


ACTIONS: dict[str, Callable[[Client, dict[str, Any]], Any]] = {
    "calls": lambda client, request: list(client.calls(**request["query"])),
    "changes": lambda client, request: list(client.changes(**request.get("query", {}))),
    "get_call": get_call,
    "get_calls": get_calls,
    "billing_offices": lambda client, request: client.billing_offices(),
    "projects": lambda client, request: list(client.projects()),
    "entities": lambda client, request: list(client.entities()),
    "create_project": create_project,
    "get_project": lambda client, request: client.get_project(request["project_id"]),
    "records": records,
    "sync": sync,
}


def main() -> None:
    request = json.load(sys.stdin)
    try:
        with client_of(request) as client:
            output = {"result": ACTIONS[request["action"]](client, request)}
    except CallResearchError as error:
        fields = {name: getattr(error, name) for name in ("code", "status", "message", "request_ids", "retry_after", "details")}
        output = {"error": {"type": type(error).__name__, **fields}}
    json.dump(output, sys.stdout)


main()
