import { Router } from 'express';
import { methodNotAllowed } from '@crs/kit/http/refusal';
import { stateOf } from '@crs/kit/http/request';
import { OAUTH_SCOPES } from '@crs/kit/rpc/scopes';

/** Serves the protected resource metadata (RFC 9728), which names the issuer of tokens for `/mcp`, at both standard paths. Pages of any origin may read it. */
export function metadata(publicUrl: string): Router {
  const body = JSON.stringify({
    resource: `${publicUrl}/mcp`,
    authorization_servers: [publicUrl],
    scopes_supported: OAUTH_SCOPES,
    bearer_methods_supported: ['header'],
    resource_name: 'Call Research',
  });
  const router = Router({ caseSensitive: true, strict: true });
  for (const path of ['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-protected-resource']) {
    router.all(path, (request, response) => {
      stateOf(response).route = path;
      response.set('Access-Control-Allow-Origin', '*');
      if (request.method === 'OPTIONS') {
        // Clients send their protocol version here too, for which browsers send a preflight.
        response.set({ 'Access-Control-Allow-Methods': 'GET', 'Access-Control-Allow-Headers': 'MCP-Protocol-Version' });
        response.status(204).end();
        return;
      }
      if (request.method !== 'GET' && request.method !== 'HEAD') throw methodNotAllowed(['GET', 'HEAD']);
      response.set('Content-Type', 'application/json; charset=utf-8').end(body);
    });
  }
  return router;
}
