import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { DASHBOARDS, generate, OUTPUT } from './generate.ts';
import type { Alert } from './alerts.ts';
import { rules } from './rules.ts';
import { RUNBOOKS } from './runbooks.ts';

const ROOT = new URL('../../../', import.meta.url);
const alerts = rules().groups.flatMap((group) => group.rules.filter((rule) => 'alert' in rule)) as Alert[];

test('the rules and dashboards in the chart are current (node deploy/monitoring/src/generate.ts writes them)', async () => {
  const files = generate();
  for (const [path, text] of files) expect(await readFile(path, 'utf8'), path).toBe(text);
  expect((await readdir(`${OUTPUT}dashboards`)).length).toBe(DASHBOARDS.length);
});

test('each alert has a runbook page, and each page has an alert', async () => {
  const names = new Set(alerts.map(({ alert }) => alert));
  const pages = (await readdir(new URL(RUNBOOKS, ROOT))).filter((name) => name.startsWith('CallResearch'));
  expect(pages.toSorted()).toEqual([...names].map((name) => `${name}.md`).toSorted());
  for (const page of pages) {
    const text = await readFile(new URL(`${RUNBOOKS}${page}`, ROOT), 'utf8');
    const headings = [...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
    expect([page, ...headings]).toEqual([page, 'Symptom', 'Meaning', 'Steps', 'Check']);
  }
});

test('panels link the runbook of each alert, and no other page', () => {
  const links = DASHBOARDS.flatMap(({ panels = [] }) => panels.flatMap((panel) => ('links' in panel ? (panel.links ?? []) : [])));
  const pages = new Set(links.map(({ url }) => url));
  expect(pages).toEqual(new Set(alerts.map(({ alert }) => `${RUNBOOKS}${alert}.md`)));
});
