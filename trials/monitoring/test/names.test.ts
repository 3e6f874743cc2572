import { setTimeout as sleep } from 'node:timers/promises';
import { PROCESS_NAMES } from '@crs/testing/processes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readExpression, readScrape, unknowns, type Known } from '@crs/monitoring/expressions';
import { DASHBOARDS } from '@crs/monitoring/generate';
import { rules, type Alert, type Recording } from '@crs/monitoring/rules';
import { startScene, type Lone, type Scene } from '../scene.ts';

// Real processes, to which happens what alerts are about, are scraped; and nothing may be asked for that none of them emitted.

const known: Known = new Map();
let scene: Scene;
let secure: Lone;

async function scrape(): Promise<void> {
  const addresses = [...PROCESS_NAMES.map((name) => scene.system.processes.ops(name)), secure.ops];
  for (const address of addresses) {
    const answer = await fetch(`http://${address}/metrics`).catch(() => undefined);
    if (answer) readScrape(await answer.text(), known);
  }
}

beforeAll(async () => {
  scene = await startScene();
  secure = await scene.secure();
  const { processes, redis, relays } = scene.system;
  const traffic = scene.traffic(12);
  await scene.exceedLimit();
  await scene.importLines();
  await scene.crowd();
  await scrape();
  await redis?.kill();
  await sleep(500);
  await processes.kill('rate-limit');
  await sleep(500);
  for (const relay of relays.get('postgres')!) await relay.close();
  await sleep(1_500);
  await scrape();
  await traffic.stop();
}, 120_000);
afterAll(() => scene?.stop());

const recorded = new Map<string, string[]>();
const all = rules().groups.flatMap((group) => group.rules as (Recording | Alert)[]);
for (const rule of all) if ('record' in rule) recorded.set(rule.record, [...readExpression(rule.expr).grouped, 'slo']);
const shownBy = (text: string) => [...text.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}/g)].map(([, label]) => label!);

/** Without Redis there are no metrics of it to compare with. */
const problemsOf = (expression: string, shown: string[]) => {
  const problems = unknowns(expression, known, recorded, shown);
  return scene.system.redis ? problems : problems.filter((problem) => !/redis/.test(problem));
};

test('rules ask for what is emitted, and their texts show labels that there are', () => {
  const problems = all.flatMap((rule) => {
    const shown = 'alert' in rule ? shownBy(Object.values(rule.annotations).join(' ')) : [];
    return problemsOf(rule.expr, shown).map((problem) => `${'alert' in rule ? rule.alert : rule.record}: ${problem}`);
  });
  expect(problems).toEqual([]);
});

test.each(DASHBOARDS)('the dashboard $title asks for what is emitted', ({ rows }) => {
  const problems = rows
    .flatMap(([, panels]) => panels)
    .flatMap(({ title, queries }) =>
      queries.flatMap(([expr, legend]) => problemsOf(expr, shownBy(legend)).map((problem) => `${title}: ${problem}`)),
    );
  expect(problems).toEqual([]);
});
