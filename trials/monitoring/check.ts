// Shows the result of every panel and rule for a system in which everything fails once, by a real Prometheus, in about ten minutes:
//
//   node trials/monitoring/check.ts [--prometheus /usr/bin/prometheus]
//
// The exit code is 1 when a panel or a recording has no data, or when an alert never came true. The rules are the delivered ones. An alert
// whose `for` is longer than its fault lasts here is seen pending; `promtool test rules deploy/monitoring/test/alerts.yaml` tests that it fires.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Alert } from '@crs/monitoring/alerts';
import { readExpression } from '@crs/monitoring/expressions';
import { DASHBOARDS, OUTPUT } from '@crs/monitoring/generate';
import { queriesOf } from '@crs/monitoring/panels';
import { rules, type Recording } from '@crs/monitoring/rules';
import { freePorts } from '@crs/testing/ports';
import { PROCESS_NAMES } from '@crs/testing/processes';
import { SCRAPE_EVERY_S, startPrometheus, type Prometheus, type Series } from './prometheus.ts';
import { startScene, type Scene } from './scene.ts';

const { values: options } = parseArgs({ options: { prometheus: { type: 'string', default: 'prometheus' } } });
const say = (text: string) => void process.stdout.write(`${text}\n`);
const began = new Date();
const since = () => `${Math.round((Date.now() - began.getTime()) / 1000)} s`.padStart(6);

/** Stops and continues a process again and again, so that its event loop is late most of the time. */
async function stutter(pid: number, seconds: number): Promise<void> {
  for (const until = Date.now() + seconds * 1_000; Date.now() < until;) {
    process.kill(pid, 'SIGSTOP');
    await sleep(900);
    process.kill(pid, 'SIGCONT');
    await sleep(300);
  }
}

async function play(scene: Scene, lonely: { listen: string; pid: number }): Promise<void> {
  const { system } = scene;
  const { processes, relays, redis, postgres } = system;
  const traffic = scene.traffic(12);
  const delays = (ms: number) =>
    ['calls', 'projects', 'entities'].forEach((name) => relays.get(name)!.forEach((relay) => relay.delay(ms)));
  let over = false;
  const asking = (async () => {
    for (; !over; await sleep(500)) {
      await fetch(`http://${lonely.listen}/v1/calls`, { headers: { authorization: `Bearer ${system.key}` } }).catch(() => {});
    }
  })();
  const steps: [string, () => Promise<unknown>][] = [
    ['normal traffic', () => sleep(20_000)],
    ['services answer 1.2 s later', () => (delays(1_200), sleep(60_000))],
    ['many 429, an import with refused lines', () => (delays(0), Promise.all([scene.exceedLimit(), scene.importLines()]))],
    ['a body that never comes', () => scene.stallBody()],
    [
      'an operator that nobody knows',
      async () => {
        for (let time = 0; time < 10; time++) {
          await scene.guessOperator();
          await sleep(1_000 * SCRAPE_EVERY_S);
        }
      },
    ],
    ['a transaction holds the feed of an organization', () => scene.importWhileFeedIsHeld()],
    [
      'projects is killed four times',
      async () => {
        for (let time = 0; time < 4; time++) {
          await sleep(3_000);
          await processes.kill('projects');
          await processes.start('projects');
        }
      },
    ],
    ['an event loop is blocked', () => stutter(lonely.pid, 15)],
    [
      'Redis and entities are killed; crowds',
      async () => {
        await Promise.all([redis?.kill(), processes.kill('entities')]);
        for (let time = 0; time < 7; time++) {
          await scene.crowd();
          await sleep(20_000);
        }
      },
    ],
    ['Redis and entities start again', () => Promise.all([redis?.start(), processes.start('entities'), sleep(10_000)])],
    ['PostgreSQL is paused', () => (postgres.pause(), sleep(120_000))],
    ['PostgreSQL continues', () => (postgres.resume(), sleep(10_000))],
    [
      'PostgreSQL is slow under load',
      async () => {
        const more = scene.traffic(40);
        for (const relay of relays.get('postgres')!) relay.delay(300);
        await sleep(110_000);
        for (const relay of relays.get('postgres')!) relay.delay(0);
        await more.stop();
      },
    ],
    [
      'PostgreSQL refuses connections',
      async () => {
        for (const relay of relays.get('postgres')!) await relay.close();
        await sleep(20_000);
        for (const relay of relays.get('postgres')!) await relay.open();
      },
    ],
    ['normal traffic', () => sleep(20_000)],
  ];
  for (const [what, step] of steps) {
    say(`${since()}  ${what}`);
    await step();
  }
  over = true;
  await asking;
  await traffic.stop();
}

const hasData = (series: Series[]) => series.filter(({ values }) => values.some(([, value]) => !/NaN|Inf/.test(value))).length;
let missing = 0;
function row(ok: boolean, columns: string[]): void {
  if (!ok) missing += 1;
  say([ok ? 'ok     ' : 'MISSING', ...columns].join('  '));
}

/** Whether an expression asks for metrics of the cluster, which there is none of here. */
const asksCluster = (expression: string) =>
  readExpression(expression).selectors.some(({ metric }) => /^(container|kube)_/.test(metric));

async function showRules(prometheus: Prometheus): Promise<void> {
  const all = rules().groups.flatMap((group) => group.rules as (Recording | Alert)[]);
  for (const record of new Set(all.flatMap((rule) => ('record' in rule ? [rule.record] : [])))) {
    const series = hasData(await prometheus.range(record, began));
    row(series > 0, [record.padEnd(36), `${series} series`]);
  }
  for (const rule of all) {
    if (!('alert' in rule)) continue;
    const { alert, labels } = rule;
    const states = await prometheus.range(`ALERTS{alertname="${alert}",severity="${labels.severity}"}`, began);
    const firing = states.filter(({ metric }) => metric['alertstate'] === 'firing');
    const about = new Set(
      (firing.length > 0 ? firing : states).map(
        ({ metric }) => metric['target'] ?? metric['crs_bulkhead_name'] ?? metric['service'],
      ),
    );
    const ofCluster = asksCluster(rule.expr);
    const state =
      firing.length > 0 ? 'firing' : states.length > 0 ? `pending (for ${rule.for})` : ofCluster ? 'of the cluster' : 'never';
    row(states.length > 0 || ofCluster, [alert.padEnd(36), labels.severity.padEnd(8), state.padEnd(16), [...about].join(', ')]);
  }
}

async function showPanels(prometheus: Prometheus): Promise<void> {
  const chosen: Record<string, string> = {
    $__rate_interval: `${5 * SCRAPE_EVERY_S}s`,
    $job: 'call-research',
    $namespace: '.*',
    $service: '.*',
  };
  for (const dashboard of DASHBOARDS) {
    for (const { panel, expr, legend } of queriesOf(dashboard)) {
      const query = expr.replace(/\$\w+/g, (name) => chosen[name] ?? name);
      const series = hasData(await prometheus.range(query, began));
      const ofCluster = asksCluster(query);
      const result = ofCluster && series === 0 ? 'of the cluster' : `${series} series`;
      row(series > 0 || ofCluster, [dashboard.uid!.padEnd(12), panel.padEnd(36), result.padEnd(14), legend]);
    }
  }
}

const scene = await startScene();
let prometheus: Prometheus | undefined;
try {
  const nowhere = '127.0.0.1:9';
  // No part of the system: a gateway without services, a service without a schema, certificates that expire soon.
  const lonely = await scene.lone('api-gateway', {
    CRS_API_URL: 'http://127.0.0.1',
    CRS_AUTH_ADDRESS: nowhere,
    CRS_CALLS_ADDRESS: nowhere,
    CRS_PROJECTS_ADDRESS: nowhere,
    CRS_RATE_LIMIT_ADDRESS: nowhere,
  });
  const early = await scene.lone('calls', {
    CRS_ADMIN_LISTEN: '127.0.0.1:0',
    DATABASE_URL: 'postgres://nobody@127.0.0.1:9/nothing',
    CRS_AUTH_ADDRESS: nowhere,
  });
  const secure = [await scene.secure(5, 20), await scene.secure(2, 5)];
  const odd = { namespace: 'odd' };
  const targets = [
    ...PROCESS_NAMES.map((service) => ({ ops: scene.system.processes.ops(service), namespace: 'research', service })),
    { ...odd, ops: lonely.ops, service: 'api-gateway' },
    { ...odd, ops: early.ops, service: 'calls' },
    // The alerts of an authority are about a namespace.
    ...secure.map(({ ops }, index) => ({ namespace: `secure-${index}`, ops, service: 'rate-limit' })),
  ];
  prometheus = await startPrometheus(options.prometheus, (await freePorts(1))[0]!, `${OUTPUT}rules.yaml`, targets);
  await play(scene, { listen: lonely.listen, pid: lonely.process.pid! });
  await showRules(prometheus);
  await showPanels(prometheus);
  say(missing === 0 ? 'everything had data' : `${missing} had no data`);
} finally {
  await prometheus?.stop();
  await scene.stop();
}
process.exitCode = missing === 0 ? 0 : 1;
