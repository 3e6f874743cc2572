"""An MCP client on the Python SDK that a firm's directory connects, without a page for the user.

    python managed.py

Reads its settings as JSON from the first line of standard input: `url` of the MCP server, `issuer` of its tokens, `client_id` and `client_secret` there,
the directory's `token_endpoint` and `certificate`, and the user's `id_token` of it. Writes the names of the user's projects.
"""

import asyncio
import json
import ssl
import sys

import httpx2
from mcp import Client
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthToken

settings = json.loads(sys.stdin.readline())


class Storage:
    tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens


async def fetch_assertion(audience: str, resource: str) -> str:
    exchange = {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "subject_token": settings["id_token"],
        "audience": audience,
        "resource": resource,
        "client_id": "assistant",
    }
    async with httpx2.AsyncClient(verify=ssl.create_default_context(cafile=settings["certificate"])) as http:
        response = await http.post(settings["token_endpoint"], data=exchange)
    if response.status_code != 200:
        sys.exit(f"the directory answers {response.status_code}: {response.text}")
    return response.json()["access_token"]


async def main() -> None:
    auth = IdentityAssertionOAuthProvider(
        server_url=settings["url"],
        storage=Storage(),
        client_id=settings["client_id"],
        client_secret=settings["client_secret"],
        issuer=settings["issuer"],
        assertion_provider=fetch_assertion,
    )
    async with httpx2.AsyncClient(auth=auth) as http, Client(streamable_http_client(settings["url"], http_client=http)) as client:
        result = await client.call_tool("list_projects", {"scope": "all"})
        print(json.dumps([project["name"] for project in result.structured_content["projects"]]))


asyncio.run(main())
