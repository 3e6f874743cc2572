/** Starts the browser `CHROMIUM`, and checks pages in it. */
import assert from 'node:assert/strict';
import { mkdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { AxeResults } from 'axe-core';
import { chromium, type Page } from 'playwright-core';

const ARGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking'];
const RULES = JSON.stringify(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']);
const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export function launch() {
  const { CHROMIUM } = process.env;
  assert(CHROMIUM, 'set CHROMIUM');
  return chromium.launch({ executablePath: CHROMIUM, args: ARGS });
}

/** @param pictures the folder for a screenshot @throws AssertionError if axe finds a fault or the page is wider than the screen */
export async function look(page: Page, name: string, width: number, pictures: string | undefined): Promise<void> {
  if (pictures) {
    await mkdir(pictures, { recursive: true });
    await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
  }
  const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
  assert(wide <= width, `${name}: the page is ${wide} wide`);
  await page.evaluate(axe);
  const { violations, passes } = await page.evaluate<AxeResults>(`axe.run({ runOnly: ${RULES} })`);
  assert.deepEqual(
    violations.map(({ id, nodes }) => [id, ...nodes.map(({ html, failureSummary }) => [html, failureSummary])]),
    [],
  );
  process.stdout.write(`  ${name}: ${passes.length} rules of axe, 0 violations\n`);
}
