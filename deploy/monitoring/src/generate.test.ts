import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { DASHBOARDS, generate, OUTPUT } from './generate.ts';
import { rules, RUNBOOKS, type Alert } from './rules.ts';

const ROOT = new URL('../../../', import.meta.url);
const alerts = rules().groups.flatMap((group) => group.rules.filter((rule) => 'alert' in rule)) as Alert[];

test('rules and dashboards of the chart are those of the source (node deploy/monitoring/src/generate.ts writes them)', async () => {
  const files = generate();
  for (const [path, text] of files) expect(await readFile(path, 'utf8'), path).toBe(text);
  expect((await readdir(`${OUTPUT}dashboards`)).length).toBe(DASHBOARDS.length);
});

test('each alert has a page that says what to do, and no page is left over', async () => {
  const names = new Set(alerts.map(({ alert }) => alert));
  const pages = (await readdir(new URL(RUNBOOKS, ROOT))).filter((name) => name.startsWith('CallResearch'));
  expect(pages.toSorted()).toEqual([...names].map((name) => `${name}.md`).toSorted());
  for (const page of pages) {
    const text = await readFile(new URL(`${RUNBOOKS}${page}`, ROOT), 'utf8');
    const headings = [...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
    expect([page, ...headings]).toEqual([page, 'What callers see', 'Where to look', 'What to do']);
  }
});

test('panels lie beside each other, not upon each other', () => {
  for (const [path, text] of generate()) {
    if (!path.endsWith('.json')) continue;
    const cells = new Set<string>();
    for (const { gridPos, title } of (
      JSON.parse(text) as { panels: { gridPos: Record<'x' | 'y' | 'w' | 'h', number>; title: string }[] }
    ).panels) {
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(cells.has(`${x},${y}`), `${path}: ${title}`).toBe(false);
          cells.add(`${x},${y}`);
        }
      }
    }
  }
});
