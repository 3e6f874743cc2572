/**
 * Opens each page of sign-in in a real browser, light and dark, on a desktop and on a phone. axe must find no violation, the browser must
 * report no error, and no page may be wider than the screen. Then it tries the steps that the page's policy could block: from a form to
 * the client, and from a popup back to the page that opened it.
 */
import assert from 'node:assert/strict';
import { mkdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { AxeResults } from 'axe-core';
import { chromium, type BrowserContext, type Page } from 'playwright-core';
import { pages } from '@crs/auth/pages/samples';
import { serveClient, servePages } from './server.ts';

const [, , executablePath, images] = process.argv;
assert(executablePath !== undefined, 'usage: check.ts CHROMIUM [DIRECTORY for pictures]');

const ARGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
];
const DEVICES = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true },
};
const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

if (images !== undefined) await mkdir(images, { recursive: true });
const browser = await chromium.launch({ executablePath, args: ARGS });
const client = await serveClient();
const origin = await servePages(`${client}/callback`);
for (const [device, options] of Object.entries(DEVICES)) {
  for (const colorScheme of ['light', 'dark'] as const) {
    await withContext({ ...options, colorScheme }, async (context) => {
      for (const name of Object.keys(pages)) await look(context, name, `${device}-${colorScheme}`, options.viewport.width);
    });
  }
}
await withContext(DEVICES.desktop, async (context) => {
  await outOfForm(context);
  await backToOpener(context);
  await byKeyboard(context);
});
// Ends the servers and the browser, too.
process.exit();

/** Opens and checks one page. */
async function look(context: BrowserContext, name: string, setting: string, width: number): Promise<void> {
  const page = await context.newPage();
  const complaints = complaintsOf(page);
  await page.goto(`${origin}/${name}`);
  if (images !== undefined) await page.screenshot({ path: join(images, `${name}-${setting}.png`), fullPage: true });
  const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
  assert(wide <= width, `${name} ${setting}: the page is ${wide} wide`);
  await page.evaluate(axe);
  const { violations, incomplete, passes } = await page.evaluate<AxeResults>(
    `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })`,
  );
  const unsure = incomplete.map(({ id }) => id).join(' ');
  say(
    `${name} ${setting}: ${passes.length} rules passed, ${violations.length} violations${unsure && `, to be looked at: ${unsure}`}`,
  );
  assert.deepEqual(
    violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html, failureSummary }) => ({ html, failureSummary })) })),
    [],
  );
  assert.deepEqual(complaints, []);
  await page.close();
}

/** The policy blocks a redirect from a form to the client. It doesn't block redirects after `continuePage`. */
async function outOfForm(context: BrowserContext): Promise<void> {
  const page = await context.newPage();
  const complaints = complaintsOf(page);
  await page.goto(`${origin}/consent`);
  await page.evaluate(`document.forms[0].action = '/redirect'`);
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.waitForTimeout(500);
  assert(
    page.url().startsWith(origin) && complaints.some((text) => text.includes('form-action')),
    'a redirect out of a form is not blocked',
  );

  await page.goto(`${origin}/consent`);
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.getByText('done').waitFor();
  say('from a form: a redirect is blocked, the page that continues is not');
  await page.close();
}

async function backToOpener(context: BrowserContext): Promise<void> {
  const page = await context.newPage();
  await page.goto(client);
  await page.evaluate(`onmessage = ({ data }) => { document.title = data }`);
  const [popup] = await Promise.all([page.waitForEvent('popup'), page.evaluate(`void open('${origin}/consent')`)]);
  await popup.getByRole('button', { name: 'Allow' }).click();
  await page.waitForFunction(`document.title === 'done'`);
  say('from a popup: the client gets the message');
  await page.close();
}

/** Each step begins in the field that it asks for, Tab moves through the fields in reading order, and Enter in a field submits the form. */
async function byKeyboard(context: BrowserContext): Promise<void> {
  const page = await context.newPage();
  const csrf = 'b0Zl9dYw4nJ1';
  const email = 'ann@acme.example';
  for (const [name, first, keys, sent] of [
    ['sign-in', 'email', [email], { csrf, email }],
    ['sign-in-organization', 'organization', ['acme'], { csrf, email, organization: 'acme' }],
    ['sign-in-password', 'password', ['secret'], { csrf, organization: 'acme', email, password: 'secret' }],
    [
      'sign-in-password',
      'password',
      ['Shift+Tab', 'bob@acme.example', 'Tab', 'secret'],
      { csrf, organization: 'acme', email: 'bob@acme.example', password: 'secret' },
    ],
  ] as const) {
    await page.goto(`${origin}/${name}`);
    await page.waitForFunction(`document.activeElement.id === '${first}'`);
    for (const key of keys) await (/Tab$/.test(key) ? page.keyboard.press(key) : page.keyboard.type(key));
    const [request] = await Promise.all([page.waitForRequest(`${origin}/sign-in/post`), page.keyboard.press('Enter')]);
    assert.deepEqual(Object.fromEntries(new URLSearchParams(request.postData()!)), sent);
    await page.getByText('done').waitFor();
  }
  say('by keyboard: signed in, step by step');
  await page.close();
}

function complaintsOf(page: Page): string[] {
  const complaints: string[] = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  return complaints;
}

/** Runs `use` in a new context without cookies. */
async function withContext(options: object, use: (context: BrowserContext) => Promise<void>): Promise<void> {
  const context = await browser.newContext(options);
  await use(context);
  await context.close();
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
