import { Router, type Request, type Response } from 'express';
import { methodNotAllowed } from '@crs/kit/http/refusal';
import { stateOf } from '@crs/kit/http/request';
import { NO_PARAMETERS, parseQuery } from '../http/query.ts';
import { notAcceptable } from '../http/refusal.ts';
import { send, type Entity } from '../http/send.ts';
import { PAGE_HEADERS, type Asset, type Docs } from './page.ts';

/** A year, the longest time that browsers honor. */
const FOR_GOOD = 'public, max-age=31536000, immutable';

/** `/`, `/docs` with its files, and `/llms.txt`. They need no credential. */
export function docsRoutes({ pages, assets }: Docs): Router {
  const router = Router({ caseSensitive: true, strict: true });
  for (const [path, shown] of Object.entries(pages)) {
    router.all(path, (request, response) => {
      check(request, response, path, shown);
      response.set(PAGE_HEADERS);
      send(request, response, shown);
    });
  }
  for (const file of assets) {
    router.all(file.path, async (request, response) => {
      check(request, response, '/docs/assets/{asset}', file.plain);
      response.set({ 'Cache-Control': FOR_GOOD, 'X-Content-Type-Options': 'nosniff', Vary: 'Accept-Encoding' });
      await sendAsset(request, response, file);
    });
  }
  return router;
}

/** Checks a request in the order in which the API checks its own. @throws Refusal 400, 405 or 406 */
function check(request: Request, response: Response, route: string, { type }: Entity): void {
  stateOf(response).route = route;
  if (!['GET', 'HEAD'].includes(request.method)) throw methodNotAllowed(['GET', 'HEAD']);
  const [plain = type] = type.split(';');
  if (!request.accepts([plain, type])) throw notAcceptable(plain);
  parseQuery(request.url, NO_PARAMETERS);
}

async function sendAsset(request: Request, response: Response, file: Asset): Promise<void> {
  if (!request.acceptsEncodings('gzip')) return send(request, response, file.plain);
  const compressed = await file.compressed();
  response.set('Content-Encoding', 'gzip');
  send(request, response, compressed);
}
