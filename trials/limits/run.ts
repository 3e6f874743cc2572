import { readArguments, refuseArguments } from '../arguments.ts';
import { atReset, exactness } from './exactness.ts';
import { mostInOutage, outage, VICTIMS } from './faults.ts';
import { startLimitsSystem, type LimitsSystem } from './system.ts';

const USAGE = `usage: node trials/limits/run.ts exactness [--gateways 1,3,10] [--limiters 1] [--windows 20]
       node trials/limits/run.ts faults [--gateways 3] [--limiters 1] [--rounds 3] [--victim 'Redis killed']

Measures how exactly rate limits are kept. It starts real processes, PostgreSQL and Redis (redis-server must be on the PATH).
  exactness  offers ten times the limit and counts the admitted requests of each window, and those of clients that come back at a reset;
             --gateways are numbers of gateway replicas to test with, --limiters the number of rate-limit processes
  faults     offers the same load while Redis or rate-limit is killed or paused; --victim chooses one of these

Prints a line for each measurement, which says whether the promise holds. Exits with 1 where one is broken.
`;

const { values: options, positionals } = readArguments(USAGE, {
  allowPositionals: true,
  options: {
    gateways: { type: 'string' },
    limiters: { type: 'string', default: '1' },
    windows: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '3' },
    victim: { type: 'string' },
  },
});
const RULE = { requests: 100, periodSeconds: 2 };
const USER_RULE = { requests: 20, periodSeconds: 4 };

let broken = false;
function print(holds: boolean, text: string): void {
  if (!holds) broken = true;
  process.stdout.write(`${holds ? 'holds ' : 'BROKEN'} ${text}\n`);
}
const tally = (faults: string[]) =>
  faults.length === 0 ? 'no faults' : `${faults.length} faults, such as ${[...new Set(faults)].slice(0, 3).join(' | ')}`;

async function printExactness(system: LimitsSystem, name: string): Promise<void> {
  for (const what of ['rest', 'tools'] as const) {
    const rule = what === 'rest' ? RULE : USER_RULE;
    const seen = await exactness(system, what, rule, Number(options.windows));
    const { windows, admittedMin, admittedMax, limit, refused, refusedBelow, faults } = seen;
    const holds = admittedMin === limit && admittedMax === limit && refusedBelow === 0 && faults.length === 0 && windows > 0;
    const counts = `admitted ${admittedMin} to ${admittedMax} of ${limit}, refused ${refused}, below the limit ${refusedBelow}`;
    print(holds, `${name}, ${what.padEnd(5)} ${String(windows).padStart(2)} windows: ${counts}; ${tally(faults)}`);
  }
  const rule = { requests: 100, periodSeconds: 3 };
  const { admitted, faults } = await atReset(system, rule);
  print(admitted === rule.requests, `${name}, at the reset: ${admitted} of ${rule.requests} clients admitted; ${tally(faults)}`);
}

async function printOutages(system: LimitsSystem, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    // Outages begin while a window still admits requests, or later. The shortest one ends in the same window.
    const [afterMs, lastedMs] = [
      [60, 3_000],
      [120, 700],
      [1_000, 5_000],
    ][round % 3] as [number, number];
    for (const victim of VICTIMS.filter((name) => !options.victim || name === options.victim)) {
      const seen = await outage(system, victim, RULE, { afterMs, lastedMs, windowsAfter: 3 });
      const { limit, mostAdmitted, after, refusedBelowAfter, faults, responses, slowestMs } = seen;
      const exact = after.every((admitted) => admitted === limit) && after.length > 0 && refusedBelowAfter === 0;
      const holds = faults.length === 0 && mostAdmitted <= mostInOutage(system, limit) && exact;
      const when = `${victim} ${afterMs} ms into a window for ${lastedMs} ms`.padEnd(53);
      const most = `at most ${(mostAdmitted / limit).toFixed(2)} x the limit`;
      const exactness = `two seconds after the return ${after.join(', ')} of ${limit}`;
      print(holds, `${when}: ${responses} responses, slowest ${slowestMs} ms, ${most}; ${exactness}; ${tally(faults)}`);
    }
  }
}

const [what] = positionals;
if ((what !== 'exactness' && what !== 'faults') || positionals.length > 1)
  refuseArguments(USAGE, 'Name one measurement: exactness or faults.');
for (const gateways of (options.gateways ?? (what === 'faults' ? '3' : '1,3,10')).split(',').map(Number)) {
  const limiters = Number(options.limiters);
  const system = await startLimitsSystem({
    'api-gateway': gateways,
    'tool-gateway': what === 'faults' ? 1 : gateways,
    'rate-limit': limiters,
  });
  try {
    if (what === 'faults') await printOutages(system, Number(options.rounds));
    else await printExactness(system, `${gateways} gateways, ${limiters} rate-limit`);
  } finally {
    await system.stop();
  }
}
process.exitCode = broken ? 1 : 0;
