import { PROCESS_NAMES } from '@crs/testing/processes';
import { readArguments, refuseArguments } from '../arguments.ts';
import { say } from './clients.ts';
import { rolling } from './rolling.ts';
import { draw, rounds, type Round } from './rounds.ts';
import { startFaultySystem } from './system.ts';

const USAGE = `usage: node trials/faults/main.ts rounds [--rounds 100] [--seed N] [--only calls:paused,postgres:killed]
       node trials/faults/main.ts rolling [--passes 3]

Breaks the parts of a running system while clients send requests, and checks every response. It starts the system itself; Redis is
left out where the machine has none. Runs on Linux.
  rounds   kills, pauses or slows one part at a time, chosen at random; --only names the part and the fault of each round
  rolling  ends each of two replicas in turn by SIGTERM and starts it again
  --clients N  number of clients that send requests one after the other (6)

Prints a table and each fault: a wrong response, a late response, or a service that doesn't come back in time. Exits with 1 where there is a fault.
`;

const { positionals, values } = readArguments(USAGE, {
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    only: { type: 'string' },
    passes: { type: 'string', default: '3' },
    clients: { type: 'string', default: '6' },
  },
});
const [trial, ...surplus] = positionals;
if (!['rounds', 'rolling'].includes(trial ?? '') || surplus.length > 0)
  refuseArguments(USAGE, 'Name one trial: rounds or rolling.');
const clients = Number(values.clients);
const count = Number(values.rounds);
const started = performance.now();
let faults: string[];
if (trial === 'rolling') {
  const replicas = Object.fromEntries(PROCESS_NAMES.map((name) => [name, 2]));
  const system = await startFaultySystem({ replicas, relays: false });
  faults = await rolling(system, { passes: Number(values.passes), clients, pauseMs: 20, services: PROCESS_NAMES });
  await system.stop();
} else {
  say(`seed ${values.seed}`);
  const only = values.only?.split(',').map((each) => {
    const [victim, fault] = each.split(':');
    return { victim, fault } as Round;
  });
  faults = await rounds({ rounds: only ?? draw(count, Number(values.seed)), clients });
}
say(`${((performance.now() - started) / 60_000).toFixed(1)} minutes, ${faults.length} faults`);
for (const fault of faults) say(`  ${fault}`);
process.exitCode = faults.length === 0 ? 0 : 1;
