import { accessSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { randomFrom } from '@crs/testing/random';
import { readArguments, refuseArguments } from '../arguments.ts';
import { say } from '../faults/clients.ts';
import { PRODUCERS } from './producers.ts';
import { sendThroughFaults } from './trial.ts';

const USAGE = `usage: node trials/records/main.ts [--records 100000] [--only benthos,http-client,syslog-ng] [--seed N]

Sends a file of records with programs that others wrote, each to an organization of its own, through a proxy that interferes with 40 % of the requests,
while services, PostgreSQL and Redis are killed and paused, and the programs themselves are killed once. It starts the system itself. Runs on Linux.
  benthos      the configuration examples/ingest/benthos.yaml
  syslog-ng    the configuration examples/ingest/syslog-ng.conf
  http-client  the output http_client of Benthos, which doesn't keep the order: each id is sent once

In the other files, 15 % of the lines replace, merge or delete earlier calls, so the result depends on their order.
  --benthos PATH    the program. To build it: go build -C trials/records/benthos -o PATH github.com/redpanda-data/benthos/v4/cmd/benthos
  --syslog-ng PATH  the program, of the Debian packages syslog-ng-core and syslog-ng-mod-http

Prints a table of the calls that the file results in and that are stored, and each fault. Exits with 1 where there is one.
`;

const { values } = readArguments(USAGE, {
  options: {
    records: { type: 'string', default: '100000' },
    only: { type: 'string', default: PRODUCERS.map(({ name }) => name).join() },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    benthos: { type: 'string', default: 'benthos' },
    'syslog-ng': { type: 'string', default: 'syslog-ng' },
  },
});
const names = values.only.split(',');
const producers = PRODUCERS.filter(({ name }) => names.includes(name));
if (producers.length !== names.length) refuseArguments(USAGE, `--only: unknown program in ${values.only}`);
const programs = { benthos: values.benthos, syslogNg: values['syslog-ng'] };
for (const program of new Set(producers.map(({ command }) => command(programs, '')[0]!))) {
  if (!isThere(program)) refuseArguments(USAGE, `${program} is not there.`);
}

say(`seed ${values.seed}`);
const started = performance.now();
const random = randomFrom(Number(values.seed));
const faults = await sendThroughFaults({ producers, programs, lines: Number(values.records), random });
say(`${((performance.now() - started) / 60_000).toFixed(1)} minutes, ${faults.length} faults`);
for (const fault of faults) say(`  ${fault}`);
process.exitCode = faults.length === 0 ? 0 : 1;

function isThere(program: string): boolean {
  const paths = program.includes('/') ? [program] : process.env['PATH']!.split(delimiter).map((each) => join(each, program));
  return paths.some((path) => {
    try {
      accessSync(path);
      return true;
    } catch {
      return false;
    }
  });
}
