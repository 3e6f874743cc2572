"""An MCP client on the Python SDK that loses its refresh token, as some assistants do.

    python never-refresh.py URL REDIRECT_URI

Writes a line for each event: `open URL` when the user has to sign in, `ready`, and the ids of the projects after each line `call` on standard input.
After `open`, it expects the query of the redirect on standard input.
"""

import asyncio
import sys
from urllib.parse import parse_qs

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

URL, REDIRECT_URI = sys.argv[1:]


class ForgetfulStorage:
    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        # The provider keeps and uses this very object.
        tokens.refresh_token = None
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


async def read_line() -> str:
    return (await asyncio.to_thread(sys.stdin.readline)).strip()


async def open_browser(url: str) -> None:
    print("open", url, flush=True)


async def wait_for_redirect() -> AuthorizationCodeResult:
    query = {name: values[0] for name, values in parse_qs(await read_line()).items()}
    return AuthorizationCodeResult(code=query["code"], state=query["state"], iss=query["iss"])


async def main() -> None:
    metadata = OAuthClientMetadata(client_name="Python SDK", redirect_uris=[REDIRECT_URI], token_endpoint_auth_method="none")
    auth = OAuthClientProvider(URL, metadata, ForgetfulStorage(), open_browser, wait_for_redirect)
    async with httpx2.AsyncClient(auth=auth) as http, Client(streamable_http_client(URL, http_client=http)) as client:
        print("ready", flush=True)
        while await read_line() == "call":
            result = await client.call_tool("list_projects", {"scope": "all"})
            print(*[project["id"] for project in result.structured_content["projects"]], flush=True)


asyncio.run(main())
