import { randomFrom } from '@crs/testing/random';
import { readArguments } from '../arguments.ts';
import { say } from '../faults/clients.ts';
import { ALL, followRounds } from './rounds.ts';

const USAGE = `usage: node trials/changes/main.ts [--rounds 30] [--work-ms 4000] [--seed N]

Follows GET /v1/changes with pages of 1, 7, 50 and 1,000 while eight writers work (imports of overlapping calls and entities, deletions of them, projects and
users, settings). In each round every service and PostgreSQL are killed by SIGKILL and started again. After the round each copy must
equal the details byte for byte. It starts the system itself. Runs on Linux.
  --work-ms  how long writers and followers work before and after the kill

Prints each broken promise: a call that is missing, went back in time, was deleted, or has another value or other fields. Exits with 1 where
there is one.
`;

const { values } = readArguments(USAGE, {
  options: {
    rounds: { type: 'string', default: '30' },
    'work-ms': { type: 'string', default: '4000' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
  },
});
say(`seed ${values.seed}`);
const round = { victims: ALL, workMs: Number(values['work-ms']) };
const started = performance.now();
const faults = await followRounds(Array(Number(values.rounds)).fill(round), randomFrom(Number(values.seed)));
say(`${((performance.now() - started) / 60_000).toFixed(1)} minutes, ${faults.length} faults`);
for (const fault of faults) say(`  ${fault}`);
process.exitCode = faults.length === 0 ? 0 : 1;
