import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { sharedWorld, TOOLS_URL, type World } from '@crs/testing/world';

let world: World;
let origin: string;

beforeAll(async () => {
  world = await sharedWorld();
  origin = `http://${world.stack.addresses.api}`;
});

const page = () => world.rest('/docs');
const assetsOf = (html: string) => [...new Set(html.match(/\/docs\/assets\/[\w./-]+/g))];

describe('/docs', () => {
  it('is public, and has the common security headers', async () => {
    for (const key of [undefined, 'crk_nonsense']) {
      const { status, headers } = await world.rest('/docs', { key, headers: { accept: 'text/html,*/*;q=0.8' } });
      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
    }
  });

  it('loads nothing from other origins, and must not be framed', async () => {
    const policy = (await page()).headers.get('content-security-policy')!;
    const directives = Object.fromEntries(policy.split('; ').map((directive) => directive.split(/ (.*)/s)));
    expect(directives).toEqual({
      'default-src': "'none'",
      'script-src': "'self'",
      'style-src': "'unsafe-inline'",
      'img-src': "'self' data:",
      'connect-src': "'self'",
      'base-uri': "'none'",
      'form-action': "'none'",
      'frame-ancestors': "'none'",
    });
    expect((await page()).text).not.toMatch(/https?:/);
  });

  it('stores no API key, and uses no telemetry, third-party fonts or proxy', async () => {
    const attribute = /data-configuration="([^"]*)"/.exec((await page()).text)![1]!;
    const settings = JSON.parse(attribute.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&amp;', '&')) as object;
    expect(settings).toMatchObject({ telemetry: false, withDefaultFonts: false, persistAuth: false, agent: { disabled: true } });
    expect(settings).not.toHaveProperty('proxyUrl');
  });

  it('serves only GET and HEAD, only HTML, and refuses a query', async () => {
    const { status, headers } = await world.rest('/docs', { method: 'POST' });
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect((await world.rest('/docs', { headers: { accept: 'application/json' } })).status).toBe(406);
    expect((await world.rest('/docs?a=1')).status).toBe(400);
    const head = await world.rest('/docs', { method: 'HEAD' });
    expect([head.status, head.text]).toEqual([200, '']);
  });

  it('supports conditional requests with an entity tag', async () => {
    const tag = (await page()).headers.get('etag')!;
    const { status, text } = await world.rest('/docs', { headers: { 'if-none-match': tag } });
    expect([status, text]).toEqual([304, '']);
  });
});

describe('the assets of /docs', () => {
  it('are immutable in caches, because their paths contain a hash of their bytes', async () => {
    const paths = assetsOf((await page()).text);
    expect(paths.map((path) => path.replace(/.*\//, '')).toSorted()).toEqual(['icon.svg', 'reference.json', 'scalar.js']);
    for (const path of paths) {
      const response = await fetch(origin + path, { headers: { 'accept-encoding': 'identity' } });
      const bytes = Buffer.from(await response.arrayBuffer());
      expect(response.status, path).toBe(200);
      expect(path).toContain(`/${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}/`);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'cache-control': 'public, max-age=31536000, immutable',
        'content-length': String(bytes.length),
        'x-content-type-options': 'nosniff',
        'x-request-id': expect.stringMatching(/^[0-9a-f]{32}$/),
        'x-ratelimit-limit': expect.stringMatching(/^\d+$/),
        vary: 'Accept-Encoding',
      });
    }
  });

  it('are compressed for clients that accept it, with a different entity tag', async () => {
    for (const path of assetsOf((await page()).text)) {
      const get = (headers: Record<string, string>, method = 'GET') => fetch(origin + path, { method, headers });
      const [plain, compressed] = await Promise.all([
        get({ 'accept-encoding': 'identity' }),
        get({ 'accept-encoding': 'gzip, br' }),
      ]);
      expect(compressed.headers.get('content-encoding'), path).toBe('gzip');
      expect(plain.headers.get('content-encoding')).toBeNull();
      expect(compressed.headers.get('etag')).not.toBe(plain.headers.get('etag'));
      expect(await compressed.text()).toBe(await plain.text());
      const again = await get({ 'accept-encoding': 'gzip', 'if-none-match': compressed.headers.get('etag')! });
      expect([again.status, again.headers.get('content-encoding')]).toEqual([304, 'gzip']);
    }
  });

  it('are the only files under their path', async () => {
    const [path = ''] = assetsOf((await page()).text);
    const others = [
      '/docs/',
      '/docs/assets',
      path.replace(/assets\/\w+/, 'assets/0123456789abcdef'),
      `${path}/`,
      `${path}/../../../package.json`,
      '/docs/assets/%2e%2e/%2e%2e/package.json',
      '/docs/index.html',
      '/docs/guide',
      '/index.html',
    ];
    for (const other of others) expect((await world.rest(other)).status, other).toBe(404);
  });

  it('include the guides', async () => {
    const path = assetsOf((await page()).text).find((name) => name.endsWith('reference.json'))!;
    const { info } = (await (await fetch(origin + path)).json()) as { info: { description: string } };
    expect([...info.description.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)).toEqual([
      'Introduction',
      'Authentication',
      'Your first request',
      'Read every call',
      'Keep up with changes',
      'Keep a copy whole',
      'Webhooks',
      'Use a client',
      'Save what has not changed',
      'Fields that may be absent',
      'Anonymized names',
      'Create a project once',
      'Send records',
      'Errors',
      'Rate limits',
      'Every error',
      'Plan a first copy',
      'Versions and deprecations',
    ]);
    expect(info.description).toContain(`${origin}/v1/calls`);
    expect(info.description).not.toContain('{base_url}');
  });
});

describe('the page at /', () => {
  it('describes the service, and links to the documentation and to the tools for assistants', async () => {
    const { status, headers, text } = await world.rest('/', { headers: { accept: 'text/html' } });
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(headers.get('content-security-policy')).toBe((await page()).headers.get('content-security-policy'));
    expect(text).toContain('Keeps the records of an organization’s research calls');
    expect(text).toContain(`${origin}/v1`);
    expect(text).toContain(`${TOOLS_URL}/mcp`);
    expect(text).not.toContain('<script');
    const links = [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, to]) => to!);
    expect(links).toEqual(expect.arrayContaining(['/docs', '/docs/guide.md', '/v1/openapi.json', '/llms.txt', `${TOOLS_URL}/`]));
    for (const link of links.filter((each) => /^\/(?!docs\/assets)/.test(each)))
      expect((await world.rest(link)).status, link).toBe(200);
  });

  it('serves only GET and HEAD, and refuses a query', async () => {
    expect((await world.rest('/', { method: 'POST' })).headers.get('allow')).toBe('GET, HEAD');
    expect((await world.rest('/?a=1')).status).toBe(400);
  });
});

describe('/llms.txt', () => {
  it('has a heading, a summary, and working links', async () => {
    const { status, headers, text } = await world.rest('/llms.txt', { headers: { accept: '*/*' } });
    expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(text).toMatch(/^# Call Research Service\n\n> \S/);
    const links = [...text.matchAll(/^- \[[^\]]+\]\(([^)]+)\): \S/gm)].map(([, to]) => to!);
    expect(links).toEqual([
      `${origin}/docs/guide.md`,
      `${origin}/v1/openapi.json`,
      `${origin}/docs`,
      `${TOOLS_URL}/mcp`,
      `${TOOLS_URL}/`,
    ]);
    for (const link of links.slice(0, 3)) expect((await fetch(link)).status, link).toBe(200);
  });

  it('links to the guide as Markdown', async () => {
    const { headers, text } = await world.rest('/docs/guide.md');
    expect(headers.get('content-type')).toBe('text/markdown; charset=utf-8');
    expect(text).toMatch(/^# Call Research Service\n\n## Introduction/);
    expect(text).toContain(`${origin}/v1`);
    expect(text).toContain('## Every error');
  });
});
