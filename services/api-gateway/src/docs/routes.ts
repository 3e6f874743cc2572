import { Router, type Request, type Response } from 'express';
import { methodNotAllowed } from '@crs/kit/http/refusal';
import { stateOf } from '@crs/kit/http/request';
import { NO_PARAMETERS, parseQuery } from '../http/query.ts';
import { notAcceptable } from '../http/refusal.ts';
import { send, type Entity } from '../http/send.ts';
import { PAGE_HEADERS, type Docs } from './page.ts';

/** One year is the maximum that browsers respect. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

/** Creates the routes `/`, `/docs` with its files, and `/llms.txt`. They need no credential. */
export function docsRoutes({ pages, assets }: Docs): Router {
  const router = Router({ caseSensitive: true, strict: true });
  for (const [path, page] of Object.entries(pages)) {
    router.all(path, (request, response) => {
      check(request, response, path, page);
      response.set(PAGE_HEADERS);
      send(request, response, page);
    });
  }
  for (const { path, plain, compressed } of assets) {
    router.all(path, async (request, response) => {
      check(request, response, '/docs/assets/{asset}', plain);
      response.set({ 'Cache-Control': IMMUTABLE, 'X-Content-Type-Options': 'nosniff', Vary: 'Accept-Encoding' });
      if (!request.acceptsEncodings('gzip')) return send(request, response, plain);
      const body = await compressed();
      response.set('Content-Encoding', 'gzip');
      send(request, response, body);
    });
  }
  return router;
}

/** Checks a request in the same order as the API does. @throws Refusal 400, 405 or 406 */
function check(request: Request, response: Response, route: string, { type }: Entity): void {
  stateOf(response).route = route;
  if (!['GET', 'HEAD'].includes(request.method)) throw methodNotAllowed(['GET', 'HEAD']);
  const [plain = type] = type.split(';');
  if (!request.accepts([plain, type])) throw notAcceptable(plain);
  parseQuery(request.url, NO_PARAMETERS);
}
