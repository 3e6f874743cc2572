// Trials of a system under faults. Each prints its table, and exits with 1 when an answer was wrong, late or lost.
//   node trials/faults/main.ts rounds [--rounds 100] [--seed N] [--only calls:paused,postgres:killed]
//   node trials/faults/main.ts rolling [--passes 3]
//   node trials/faults/main.ts orders [--seed N]
import { parseArgs } from 'node:util';
import { PROCESS_NAMES } from '@crs/testing/processes';
import { say } from './clients.ts';
import { orders } from './orders.ts';
import { randomFrom } from './random.ts';
import { rolling } from './rolling.ts';
import { draw, rounds, type Round } from './rounds.ts';
import { startFaultySystem } from './system.ts';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    only: { type: 'string' },
    passes: { type: 'string', default: '3' },
    clients: { type: 'string', default: '6' },
  },
});
const clients = Number(values.clients);
const count = Number(values.rounds);
const started = performance.now();
let faults: string[];
if (positionals[0] === 'rolling') {
  const replicas = Object.fromEntries(PROCESS_NAMES.map((name) => [name, 2]));
  const system = await startFaultySystem({ replicas, relays: false });
  faults = await rolling(system, { passes: Number(values.passes), clients, services: PROCESS_NAMES });
  await system.stop();
} else if (positionals[0] === 'orders') {
  say(`seed ${values.seed}`);
  const system = await startFaultySystem({ relays: true });
  faults = await orders(system, randomFrom(Number(values.seed)));
  await system.stop();
} else {
  say(`seed ${values.seed}`);
  const only = values.only?.split(',').map((each) => {
    const [victim, fault] = each.split(':');
    return { victim, fault } as Round;
  });
  const baseline = count > 10 && !only ? { baseline: 10 } : {};
  faults = await rounds({ rounds: only ?? draw(count, Number(values.seed)), clients, ...baseline });
}
say(`${((performance.now() - started) / 60_000).toFixed(1)} minutes, ${faults.length} faults`);
for (const fault of faults) say(`  ${fault}`);
process.exitCode = faults.length === 0 ? 0 : 1;
