import { createAuthority } from '@crs/testing/certificate';
import { PROCESS_NAMES } from '@crs/testing/processes';
import { ProgramCertificates } from '@crs/testing/program-certificates';
import { readArguments, refuseArguments } from '../arguments.ts';
import { say } from '../faults/clients.ts';
import { startFaultySystem } from '../faults/system.ts';
import { rotate } from './rotation.ts';
import { openTls, ROTATIONS, type Rotation } from './rotations.ts';

const ALL = Object.keys(ROTATIONS) as Rotation[];
const USAGE = `usage: node trials/rotation/main.ts [${ALL.join('] [')}]

Rotates each secret, or those that are named, in a running system with two replicas of each service and a certificate for each program, while clients
send requests by key and by token, a signed-in browser visits its page, a connected assistant renews its tokens and goes through a list by its cursor,
and an operator lists users. It does what the runbooks say. Runs on Linux.

Prints each failed request. Exits with 1 where a request failed.
`;

const { positionals } = readArguments(USAGE, { allowPositionals: true, options: {} });
const unknown = positionals.find((each) => !(ALL as string[]).includes(each));
if (unknown !== undefined) refuseArguments(USAGE, `Unknown rotation "${unknown}".`);
const authority = createAuthority('first');
const certificates = new ProgramCertificates(authority);
const tls = await openTls({ certificates });
const replicas = Object.fromEntries(PROCESS_NAMES.map((name) => [name, 2]));
// As in production. With the 300 ms of other trials, a client on a busy machine might not send a request in time to learn that its connection is closed.
const environment = { CRS_LAME_DUCK_MS: '5000' };
const system = await startFaultySystem({ replicas, relays: false, environment, environments: certificates.settings(), tls });
tls.close();
const rotations = positionals.length > 0 ? (positionals as Rotation[]) : ALL;
const failed = await rotate(system, rotations, { clients: 3, pauseMs: 30, personPauseMs: 50 }, { certificates, authority });
await system.stop();
certificates.remove();
say(`${failed.length} failed requests`);
process.exitCode = failed.length === 0 ? 0 : 1;
