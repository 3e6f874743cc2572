import { Router } from 'express';
import { stateOf } from '@crs/kit/http/request';
import { SCOPES } from './tokens.ts';

/** RFC 9728: where clients learn who issues tokens for `/mcp`, in the form with the path and in the one without. */
export function metadata(publicUrl: string): Router {
  const body = JSON.stringify({
    resource: `${publicUrl}/mcp`,
    authorization_servers: [publicUrl],
    scopes_supported: SCOPES,
    bearer_methods_supported: ['header'],
    resource_name: 'Call Research',
  });
  const router = Router({ caseSensitive: true, strict: true });
  for (const path of ['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-protected-resource']) {
    router.get(path, (_request, response) => {
      stateOf(response).route = path;
      response.set({ 'Content-Type': 'application/json; charset=utf-8', 'Access-Control-Allow-Origin': '*' }).end(body);
    });
  }
  return router;
}
