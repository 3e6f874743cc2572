/** The docs page: Scalar renders the OpenAPI document and the guide. No page loads anything from another origin. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { html } from '@crs/kit/http/html';
import { entity, type Entity } from '../http/send.ts';
import { TITLE, VERSION } from '../openapi/document.ts';
import { renderForModels, renderHome, type Addresses } from './home.ts';

export type Docs = ReturnType<typeof buildDocs>;

const compress = promisify(gzip);

/** Scalar sets style attributes, which need `unsafe-inline`. */
export const PAGE_HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
};

const read = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');
const SCALAR = join(dirname(createRequire(import.meta.url).resolve('@scalar/api-reference')), 'browser/standalone.js');

/** @param document the OpenAPI document */
export function buildDocs(document: Record<string, unknown>, addresses: Addresses) {
  const guide = [read('./guide.md'), read('./reference.md')].join('\n').replaceAll('{base_url}', `${addresses.publicUrl}/v1`);
  const reference = asset(
    'reference.json',
    'application/json; charset=utf-8',
    Buffer.from(JSON.stringify({ ...document, info: { title: TITLE, version: VERSION, description: guide } })),
  );
  const script = asset('scalar.js', 'text/javascript; charset=utf-8', withoutSourceMap(readFileSync(SCALAR)));
  const icon = asset('icon.svg', 'image/svg+xml', Buffer.from(read('./icon.svg')));
  const page = (type: string, text: string) => entity(`${type}; charset=utf-8`, Buffer.from(text));
  return {
    pages: {
      '/': page('text/html', renderHome(addresses, { icon: icon.path, style: read('./home.css') })),
      '/docs': page('text/html', render({ reference, script, icon })),
      '/docs/guide.md': page('text/markdown', `# ${TITLE}\n\n${guide}`),
      '/llms.txt': page('text/plain', renderForModels(addresses)),
    },
    assets: [reference, script, icon],
  };
}

/**
 * Returns a file of the docs page. Its path contains a hash of its bytes, so that browsers may cache it forever. `compressed` compresses it on its first
 * call.
 */
function asset(name: string, type: string, body: Buffer) {
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 16);
  let compressed: Promise<Entity> | undefined;
  return {
    path: `/docs/assets/${hash}/${name}`,
    plain: entity(type, body),
    compressed: (): Promise<Entity> => (compressed ??= compress(body, { level: 9 }).then((bytes) => entity(type, bytes))),
  };
}

/** Removes the reference to a source map, which browsers' developer tools would request in vain. */
function withoutSourceMap(script: Buffer): Buffer {
  return Buffer.from(script.toString().replace(/\n\/\/# sourceMappingURL=\S+\s*$/, '\n'));
}

function render({ reference, script, icon }: Record<'reference' | 'script' | 'icon', { path: string }>): string {
  const settings = {
    url: reference.path,
    // Without a host, "Try it" sends requests to the origin of the page.
    servers: [{ url: '/v1', description: 'This service' }],
    favicon: icon.path,
    customCss: read('./page.css'),
    defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
    defaultOpenAllTags: true,
    documentDownloadType: 'none',
    hiddenClients: HIDDEN_CLIENTS,
    // The remaining settings turn off features that contact other origins or aren't useful here.
    agent: { disabled: true },
    mcp: { disabled: true },
    hideClientButton: true,
    hideModels: true,
    persistAuth: false,
    showDeveloperTools: 'never',
    telemetry: false,
    withDefaultFonts: false,
  };
  return String(
    html`<!doctype html>
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <title>${TITLE}: API</title>
          <link rel="icon" href="${icon.path}" type="image/svg+xml" />
        </head>
        <body>
          <noscript>This page needs JavaScript. The same for programs: <a href="/v1/openapi.json">/v1/openapi.json</a></noscript>
          <script id="api-reference" data-configuration="${JSON.stringify(settings)}"></script>
          <script src="${script.path}"></script>
        </body>
      </html>`,
  );
}

/** Request samples are limited to the most popular languages, of 40 that Scalar supports. */
const HIDDEN_CLIENTS = Object.fromEntries(
  ['c', 'clojure', 'dart', 'fsharp', 'http', 'kotlin', 'objc', 'ocaml', 'powershell', 'r', 'rust', 'swift'].map((name) => [
    name,
    true,
  ]),
);
