import { PROCESS_NAMES } from '@crs/testing/processes';
import { readArguments, refuseArguments } from '../arguments.ts';
import { say } from '../faults/clients.ts';
import { startFaultySystem } from '../faults/system.ts';
import { rotate, ROTATIONS, type Rotation } from './rotation.ts';

const ALL = Object.keys(ROTATIONS) as Rotation[];
const USAGE = `usage: node trials/rotation/main.ts [${ALL.join('] [')}]

Rotates each secret, or those that are named, in a running system with two replicas of each service, while clients send requests by key and by token, a
signed-in browser visits its page, and a connected assistant renews its tokens and goes through a list by its cursor. It does what the runbooks say.
Runs on Linux.

Prints each failed request. Exits with 1 where a request failed.
`;

const { positionals } = readArguments(USAGE, { allowPositionals: true, options: {} });
const unknown = positionals.find((each) => !(ALL as string[]).includes(each));
if (unknown !== undefined) refuseArguments(USAGE, `There is no rotation "${unknown}".`);
const replicas = Object.fromEntries(PROCESS_NAMES.map((name) => [name, 2]));
const system = await startFaultySystem({ replicas, relays: false });
const failed = await rotate(system, positionals.length > 0 ? (positionals as Rotation[]) : ALL, {
  clients: 3,
  pauseMs: 30,
  personPauseMs: 50,
});
await system.stop();
say(`${failed.length} failed requests`);
process.exitCode = failed.length === 0 ? 0 : 1;
