import { randomFrom } from '@crs/testing/random';
import { readArguments } from '../arguments.ts';
import { say } from '../faults/clients.ts';
import { mergeRounds, VICTIMS } from './rounds.ts';

const USAGE = `usage: node trials/merges/main.ts [--rounds 30] [--work-ms 5000] [--seed N]

Seven producers merge their own properties of the same 1,000 calls at random, by PATCH, by lines of POST /v1/records and by crs import, and repeat a
request until its response is definite. An eighth does so in another organization with the same call ids. In each round a service or PostgreSQL is
killed by SIGKILL and started again. After the round each property must be the last one that its producer was told is stored, and replicas that
follow GET /v1/changes must equal the details byte for byte. It starts the system itself. Runs on Linux.
  --work-ms  how long producers work before and after the kill

Prints what each producer did, and each fault. Exits with 1 if there is one.
`;

const { values } = readArguments(USAGE, {
  options: {
    rounds: { type: 'string', default: '30' },
    'work-ms': { type: 'string', default: '5000' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
  },
});
const seed = Number(values.seed);
say(`seed ${seed}`);
const random = randomFrom(seed);
const victims = Array.from({ length: Number(values.rounds) }, () => VICTIMS[Math.floor(random() * VICTIMS.length)]!);
const started = performance.now();
const { tallies, faults } = await mergeRounds({ victims, workMs: Number(values['work-ms']), seed });
say('\nproducer    requests  repeated  changes of calls');
for (const { producer, requests, repeated, changes } of tallies) {
  say(
    `${producer.padEnd(10)} ${[requests, repeated, changes].map((count, i) => String(count).padStart([9, 9, 17][i]!)).join(' ')}`,
  );
}
say(`\n${((performance.now() - started) / 60_000).toFixed(1)} minutes, ${faults.length} faults`);
for (const fault of faults) say(`  ${fault}`);
process.exitCode = faults.length === 0 ? 0 : 1;
