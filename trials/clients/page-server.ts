import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pages } from '@crs/auth/pages/samples';
import { FLOW_HEADERS, PAGE_HEADERS } from '@crs/auth/pages/headers';
import { continuePage } from '@crs/auth/pages/messages';

/**
 * Serves a sample of each page at `/<page>`. `/stay` returns 204, so that the browser stays on the page `continue`. A form posted to `/sign-in/post` gets
 * `continuePage`, which leads to `client` by a redirect. A form posted to `/redirect` gets that redirect directly.
 * @returns its origin
 */
export async function servePages(client: string): Promise<string> {
  return listen(
    createServer((request, response) => {
      const path = new URL(request.url ?? '/', 'http://localhost').pathname;
      const send = (headers: object, body: string) =>
        response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', ...headers }).end(body);
      if (path === '/stay') return response.writeHead(204).end();
      if (path === '/redirect' || path === '/resume') return response.writeHead(303, { Location: client }).end();
      if (path === '/sign-in/post') return send(FLOW_HEADERS, continuePage({ to: '/resume' }));
      const page = pages[path.slice(1)];
      if (!page) return response.writeHead(404).end();
      const own = path.startsWith('/connections') || path === '/signed-out';
      send(own ? PAGE_HEADERS : FLOW_HEADERS, page());
    }),
  );
}

/** Serves a web client, whose callback redirects to a page that sends the code to its opener. @returns its origin */
export async function serveClient(): Promise<string> {
  return listen(
    createServer((request, response) => {
      // Content security policies treat this as another origin.
      const elsewhere = `http://${request.headers.host!.replace('localhost', '127.0.0.1')}`;
      const { pathname, search } = new URL(request.url ?? '/', elsewhere);
      if (pathname === '/callback') return response.writeHead(303, { Location: `${elsewhere}/done${search}` }).end();
      const script = "opener?.postMessage(new URLSearchParams(location.search).get('code'), '*')";
      const body = pathname === '/done' ? `<script>${script}</script>done` : 'client';
      response.writeHead(200, { 'Content-Type': 'text/html' }).end(`<!doctype html><title>Client</title>${body}`);
    }),
  );
}

/** @returns its origin */
async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}
