/**
 * Opens each page of sign-in in a real browser, in light and dark mode, on a desktop and on a phone. axe must find no violation, the browser must report no
 * error, and no page may be wider than the screen. Then tries the steps that the page's policy could block: from a form to the client, and from a popup back
 * to the page that opened it. Finally, another page tries to redirect a click to the Allow button.
 */
import assert from 'node:assert/strict';
import type { BrowserContext, Page } from 'playwright-core';
import { pages } from '@crs/auth/pages/samples';
import { launch, look } from './browser.ts';
import { serveClient, servePages } from './page-server.ts';

const DEVICES = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true },
};
const CODE = 'c0de';
/** Less than the 0.7 s after which the page's cover disappears from the button. */
const DOUBLE_CLICK_MS = 500;

const browser = await launch();
const client = await serveClient();
const origin = await servePages(`${client}/callback?code=${CODE}`);
for (const [device, options] of Object.entries(DEVICES)) {
  for (const colorScheme of ['light', 'dark'] as const) {
    await withContext({ ...options, colorScheme }, async (context) => {
      const page = await context.newPage();
      const complaints = complaintsOf(page);
      for (const name of Object.keys(pages)) {
        await page.goto(`${origin}/${name}`);
        await look(page, `${name}-${device}-${colorScheme}`, options.viewport.width, undefined);
        assert(complaints.length === 0, `${name} or the page before it: ${complaints.join('\n')}`);
      }
    });
  }
}
await withContext(DEVICES.desktop, async (context) => {
  await checkFormRedirects(context);
  await checkPopup(context);
  await checkSignInByKeyboard(context);
});
for (const reducedMotion of ['no-preference', 'reduce'] as const) {
  await withContext({ ...DEVICES.desktop, reducedMotion }, checkClickjackingByMouse);
  await withContext({ ...DEVICES.phone, reducedMotion }, checkClickjackingByTouch);
}
await withContext(DEVICES.desktop, checkConsentByKeyboard);
// Also stops the servers and the browser.
process.exit();

/** Checks that the policy blocks a redirect from a form to the client, but no redirects after `continuePage`. */
async function checkFormRedirects(context: BrowserContext): Promise<void> {
  const page = await context.newPage();
  const complaints = complaintsOf(page);
  await page.goto(`${origin}/consent`);
  await page.evaluate(`document.forms[0].action = '/redirect'`);
  await allow(page);
  await page.waitForTimeout(500);
  assert(
    page.url().startsWith(origin) && complaints.some((text) => text.includes('form-action')),
    'a redirect out of a form is not blocked',
  );

  await page.goto(`${origin}/consent`);
  await allow(page);
  await page.getByText('done').waitFor();
  say('from a form: a redirect is blocked, the page that continues is not');
  await page.close();
}

/** Checks that the policy lets a web client that opened the sign-in in a popup receive the code. */
async function checkPopup(context: BrowserContext): Promise<void> {
  const page = await context.newPage();
  await page.goto(client);
  await page.evaluate(`onmessage = ({ data }) => { document.title = data }`);
  const [popup] = await Promise.all([page.waitForEvent('popup'), page.evaluate(`void open('${origin}/consent')`)]);
  await allow(popup);
  await page.waitForFunction(`document.title === '${CODE}'`);
  say('from a popup: the client gets the code');
  await page.close();
}

/** Moves the pointer onto the page, as a person does. Playwright clicks as soon as nothing covers the button. */
async function allow(page: Page): Promise<void> {
  await page.locator('h1').hover();
  await page.getByRole('button', { name: 'Allow' }).click();
}

/**
 * The page that opened this window navigates it to the consent page between the two clicks of a double-click. The second click hits the Allow button, and
 * must have no effect. A person can click it a second later.
 */
async function checkClickjackingByMouse(context: BrowserContext): Promise<void> {
  const opener = await context.newPage();
  await opener.goto(client);
  const [victim] = await Promise.all([
    opener.waitForEvent('popup'),
    opener.evaluate(`void (window.victim = open('${origin}/consent'))`),
  ]);
  const { x, y } = await scrollToAllow(victim);
  await atDoubleClickSpeed(async () => {
    await opener.evaluate(`victim.location = '${client}'`);
    await victim.waitForURL(`${client}/`);
    await victim.mouse.click(x, y);
    const loaded = victim.waitForURL(`${origin}/consent`, { waitUntil: 'load' });
    await opener.evaluate(`victim.location = '${origin}/consent'`);
    await loaded;
    return () => victim.mouse.click(x, y);
  });
  await expectNoConsent(victim);
  await victim.mouse.move(x + 1, y);
  await victim.waitForTimeout(1_000);
  await victim.mouse.click(x, y);
  await victim.getByText('done').waitFor();
  say('a double-click that is redirected to Allow: not allowed; a click a second later: allowed');
  await opener.close();
}

/** The same attack by touch. There the first tap uncovers the button, because no pointer hovers over the page. */
async function checkClickjackingByTouch(context: BrowserContext): Promise<void> {
  const page = await context.newPage();
  await page.goto(`${origin}/consent`);
  const { x, y } = await scrollToAllow(page);
  await atDoubleClickSpeed(async () => {
    await page.goto(`${origin}/consent`);
    await scrollToAllow(page);
    await page.touchscreen.tap(x, y);
    return () => page.touchscreen.tap(x, y);
  });
  await expectNoConsent(page);
  assert(await page.getByText('Tap Allow twice.').isVisible(), 'nothing says that Allow needs two taps');
  await page.waitForTimeout(1_000);
  await page.touchscreen.tap(x, y);
  await page.getByText('done').waitFor();
  say('a double tap that is redirected to Allow: not allowed; a tap a second later: allowed');
  await page.close();
}

/** The cover only affects pointers: with the keyboard, Allow can be pressed immediately. */
async function checkConsentByKeyboard(context: BrowserContext): Promise<void> {
  const page = await context.newPage();
  await page.goto(`${origin}/consent`);
  for (const key of ['Tab', 'Tab', 'Tab']) await page.keyboard.press(key);
  assert.equal(await page.evaluate('document.activeElement.value'), 'allow');
  await page.keyboard.press('Enter');
  await page.getByText('done').waitFor();
  say('by keyboard: allowed');
  await page.close();
}

/** Scrolls to the button. @returns the coordinates of its middle on the screen */
async function scrollToAllow(page: Page): Promise<{ x: number; y: number }> {
  const button = page.getByRole('button', { name: 'Allow' });
  await button.scrollIntoViewIfNeeded();
  const { x, y, width, height } = (await button.boundingBox())!;
  return { x: x + width / 2, y: y + height / 2 };
}

/** Repeats the whole attack until its last click is as fast as a double-click, because this machine may be busy. */
async function atDoubleClickSpeed(attack: () => Promise<() => Promise<void>>): Promise<void> {
  for (let attempts = 0; attempts < 20; attempts++) {
    const lastClick = await attack();
    const started = performance.now();
    await lastClick();
    if (performance.now() - started < DOUBLE_CLICK_MS) return;
  }
  throw new Error('this machine is too slow to click twice');
}

async function expectNoConsent(page: Page): Promise<void> {
  await page.waitForTimeout(300);
  assert.equal(page.url(), `${origin}/consent`, 'a redirected click allowed access');
}

/** Checks that each step starts with the focus in its field, Tab moves through the fields in reading order, and Enter submits the form. */
async function checkSignInByKeyboard(context: BrowserContext): Promise<void> {
  const page = await context.newPage();
  const csrf = 'b0Zl9dYw4nJ1';
  const email = 'ann@acme.example';
  for (const [name, first, keys, expectedForm] of [
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
    assert.deepEqual(Object.fromEntries(new URLSearchParams(request.postData()!)), expectedForm);
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

/** Runs `use` in a new browser context without cookies. */
async function withContext(options: object, use: (context: BrowserContext) => Promise<void>): Promise<void> {
  const context = await browser.newContext(options);
  await use(context);
  await context.close();
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
