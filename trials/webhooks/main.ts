import { readArguments, refuseArguments } from '../arguments.ts';
import { say } from '../faults/clients.ts';
import { runHostile } from './hostile.ts';
import { runIdle } from './idle.ts';
import { runKills } from './kills.ts';

const USAGE = `usage: node trials/webhooks/main.ts kills [--deliveries 10000] | hostile [--changes 200] | idle [--endpoints 1000]

Starts the system itself. Runs on Linux.
  kills    20 receivers that verify each message by the packages standardwebhooks and svix, and fail at random, while writers import and services,
           PostgreSQL and receivers are killed. Each receiver must have the last change of each call, in order, and repeats must be equal.
           PYTHON is the path of a Python with the package standardwebhooks, which then verifies each message, too.
  hostile  the time from a change to its message at 20 receivers, alone and beside 100 hostile ones: slow, silent, failing, redirecting, endless
  idle     the CPU time of the whole system with idle endpoints, with and without the webhooks process

Prints each broken promise, and exits with 1 if there is one.
`;

const TRIALS: Record<string, (size: number | undefined) => Promise<string[]>> = {
  kills: runKills,
  hostile: runHostile,
  idle: runIdle,
};
const size = { type: 'string' } as const;
const { values, positionals } = readArguments(USAGE, {
  options: { deliveries: size, changes: size, endpoints: size },
  allowPositionals: true,
});
const trial = TRIALS[positionals[0] ?? ''];
if (!trial || positionals.length > 1) refuseArguments(USAGE, 'Name one trial.');
const given = values.deliveries ?? values.changes ?? values.endpoints;
const faults = await trial(given === undefined ? undefined : Number(given));
for (const fault of faults) say(`  ${fault}`);
say(`${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;
