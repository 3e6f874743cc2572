import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FLOW_HEADERS, PAGE_HEADERS } from '../../services/auth/src/sign-in/pages/headers.ts';
import { pages } from '../../services/auth/src/sign-in/pages/_samples.ts';
import { continuePage } from '../../services/auth/src/sign-in/pages/messages.ts';

/**
 * `/<page>` shows a sample; `/stay` answers nothing, so that a page which leads on can be looked at. A post to `/sign-in/post` is answered
 * by a page that leads through a redirect to `client`, one to `/redirect` by that redirect at once.
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

/** A web client: its page opens a popup for sign-in, its callback redirects once more and then tells what opened it. */
export async function serveClient(): Promise<string> {
  return listen(
    createServer((request, response) => {
      // Another origin, as far as a policy is concerned.
      const elsewhere = `http://${request.headers.host!.replace('localhost', '127.0.0.1')}`;
      if (request.url === '/callback') return response.writeHead(303, { Location: `${elsewhere}/done` }).end();
      const body = request.url === '/done' ? `<script>opener?.postMessage('done', '*')</script>done` : 'client';
      response.writeHead(200, { 'Content-Type': 'text/html' }).end(`<!doctype html><title>Client</title>${body}`);
    }),
  );
}

/** @returns its origin */
async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}
