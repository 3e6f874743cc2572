/**
 * The demo user with a real browser. `leave` throws if a page sent a request to a host that isn't local, violated its content security policy, or logged a
 * warning or an error.
 */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { launch, look } from './browser.ts';

const { MCP_URL, MCP_USER, MCP_PASSWORD, PICTURES } = process.env;
assert(MCP_URL && MCP_USER && MCP_PASSWORD, 'set MCP_URL, MCP_USER and MCP_PASSWORD');
export const { origin } = new URL(MCP_URL);

const DESK = { width: 880, height: 640 };
const SETTINGS = {
  light: { colorScheme: 'light', size: DESK },
  dark: { colorScheme: 'dark', size: DESK },
  phone: { colorScheme: 'light', size: { width: 360, height: 740 } },
} as const;

export interface Person {
  page: Page;
  /** The first step of the sign-in form. */
  enterEmail(): Promise<void>;
  /** The last step. */
  enterPassword(password?: string): Promise<void>;
  /** Opens an assistant's authorization URL, signs in if required, and decides. @returns the URL that the browser is sent back to */
  decide(authorization: string, decision: 'Allow' | 'Deny'): Promise<URL>;
  /** In light, dark and phone settings: takes a screenshot if `PICTURES` is set, and throws if axe finds a fault or the page is too wide. */
  look(name: string): Promise<void>;
  /** Closes the browser. @throws AssertionError if a page logged a problem or called a host that is not local */
  leave(): Promise<void>;
}

export async function openBrowser(): Promise<Person> {
  const browser = await launch();
  const page = await browser.newPage({ viewport: DESK });
  const hosts = new Set<string>();
  const complaints: string[] = [];
  page.on('request', (request) => /^https?:/.test(request.url()) && hosts.add(new URL(request.url()).hostname));
  page.on('pageerror', ({ message }) => page.url().startsWith(origin) && complaints.push(message));
  page.on('console', (message) => {
    const isOurs = (message.location().url || page.url()).startsWith(origin);
    // Chromium logs every response with an error status. Client errors (4xx) are expected in this trial.
    const isStatus = /^Failed to load resource: the server responded with a status of 4\d\d/.test(message.text());
    if (isOurs && !isStatus && ['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });

  async function enterEmail(): Promise<void> {
    await page.getByLabel('E-mail').fill(MCP_USER!);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByLabel('Password').waitFor();
  }

  async function enterPassword(password = MCP_PASSWORD!): Promise<void> {
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  return {
    page,
    enterEmail,
    enterPassword,
    async decide(authorization, decision) {
      if (page.url() !== authorization && !page.url().startsWith(`${origin}/sign-in/`)) await page.goto(authorization);
      const button = page.getByRole('button', { name: decision, exact: true });
      await button.or(page.getByLabel('E-mail')).waitFor();
      if (!(await button.isVisible())) {
        await enterEmail();
        await enterPassword();
      }
      // Against clickjacking, Allow can only be clicked once the pointer has been on the page for a moment.
      await page.locator('h1').hover();
      await button.click();
      await page.waitForURL((url) => url.origin !== origin);
      return new URL(page.url());
    },
    async look(name) {
      for (const [setting, { colorScheme, size }] of Object.entries(SETTINGS)) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize(size);
        await look(page, `${name}-${setting}`, size.width, PICTURES);
      }
      await page.setViewportSize(DESK);
    },
    async leave() {
      await browser.close();
      assert.deepEqual([complaints, [...hosts].filter((host) => !['127.0.0.1', 'localhost'].includes(host))], [[], []]);
    },
  };
}
