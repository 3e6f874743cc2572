/**
 * Checks the docs page in a real browser, in light and dark mode, on a desktop and on a phone: it sends no request to another origin, doesn't violate its
 * content security policy, and can send a request with a key, which it doesn't store.
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type BrowserContext, type Page } from 'playwright-core';

const [, , origin, key, executablePath, images] = process.argv;
assert(
  origin !== undefined && key !== undefined && executablePath !== undefined,
  'usage: docs-page.ts ORIGIN KEY CHROMIUM [DIRECTORY for pictures]',
);

const ARGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const DEVICES = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
};

const requests: string[] = [];
const complaints: string[] = [];

if (images !== undefined) await mkdir(images, { recursive: true });
for (const [device, options] of Object.entries(DEVICES)) {
  for (const colorScheme of ['light', 'dark'] as const) {
    await withPage({ ...options, colorScheme }, async (page) => {
      await page.goto(`${origin}/docs`);
      await page.getByRole('heading', { name: 'Authentication' }).first().waitFor();
      await page.waitForTimeout(1_000);
      await picture(page, `docs-${device}-${colorScheme}`);
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      assert(width <= options.viewport.width, `${device}: the page is ${width} wide`);
      if (device === 'desktop') await tryRequest(page, colorScheme);
    });
  }
}

assert.deepEqual(complaints, []);
const foreign = requests.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith('data:') && !url.startsWith('blob:'));
assert.deepEqual(foreign, []);
process.stdout.write(`${requests.length} requests, none to another origin: ${[...new Set(requests.map(pathOf))].join(' ')}\n`);

async function tryRequest(page: Page, colorScheme: string): Promise<void> {
  await page.getByPlaceholder('Token').first().fill(key!);
  await page.getByRole('link', { name: 'List calls' }).first().click();
  const test = page.getByRole('button', { name: /Test Request/ }).first();
  await test.waitFor();
  await page.waitForTimeout(1_500);
  await picture(page, `docs-operation-${colorScheme}`);
  await test.click();
  const answer = page.waitForResponse((response) => pathOf(response.url()) === '/v1/calls');
  await page.getByRole('button', { name: /Send/ }).first().click();
  assert.equal((await answer).status(), 200);
  await page.getByText('200 OK').first().waitFor();
  await page.waitForTimeout(1_000);
  await picture(page, `docs-try-it-${colorScheme}`);
  const kept = await page.evaluate<string>('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])');
  assert(!kept.includes(key!), 'the browser stores the key');
}

/** Runs in a fresh profile, so that nothing stored earlier affects the page. */
async function withPage(options: object, use: (page: Page) => Promise<void>): Promise<void> {
  const profile = await mkdtemp(join(tmpdir(), 'crs-docs-'));
  const context: BrowserContext = await chromium.launchPersistentContext(profile, {
    executablePath: executablePath!,
    args: ARGS,
    ...options,
  });
  try {
    const page = await context.newPage();
    page.on('request', (request) => requests.push(request.url()));
    page.on('console', (message) => ['error', 'warning'].includes(message.type()) && complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    await use(page);
  } finally {
    await context.close();
    await rm(profile, { recursive: true });
  }
}

async function picture(page: Page, name: string): Promise<void> {
  if (images !== undefined) await page.screenshot({ path: join(images, `${name}.png`) });
}

function pathOf(url: string): string {
  return new URL(url).pathname;
}
