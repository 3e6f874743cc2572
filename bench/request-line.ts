/**
 * The CPU time of a request's line in the log, beside a line of method, route, status and duration alone. The lines go to standard error:
 * `node bench/request-line.ts 2>/dev/null`
 */
import { parseArgs } from 'node:util';
import { fullAddressOf } from '@crs/kit/http/charge';
import { pageFacts, type RequestFacts } from '@crs/kit/http/register';
import { createLogger } from '@crs/kit/process/log';

const { values } = parseArgs({
  options: { lines: { type: 'string', default: '200000' }, rounds: { type: 'string', default: '5' } },
});
const log = createLogger('api-gateway');
const request = { socket: { remoteAddress: '::ffff:192.0.2.1' }, headers: {} } as never;
const short = {
  method: 'GET',
  route: '/v1/calls',
  status: 200,
  seconds: 0.004_321,
  trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
};

function long() {
  const facts: RequestFacts = { organization: 'acme', key_id: 'key_0123456789abcdef', operation: 'listCalls' };
  facts.query = { start_date: new Date(0), end_date: new Date(1e12), page: 1, per_page: 50 };
  Object.assign(facts, pageFacts(['call_0123456789', 'call_9876543210']));
  return {
    ...short,
    bytes: 12_345,
    aborted: undefined,
    client_address: fullAddressOf({ trustedProxies: [] }, request),
    ...facts,
  };
}

/** Microseconds of CPU a line. */
function measure(line: () => object): number {
  const before = process.cpuUsage();
  for (let n = 0; n < Number(values.lines); n++) log.info(line(), 'request');
  const { user, system } = process.cpuUsage(before);
  return (user + system) / Number(values.lines);
}

for (let round = 1; round <= Number(values.rounds); round++) {
  const [alone, whole] = [measure(() => short), measure(long)];
  process.stdout.write(`round ${round}: ${whole.toFixed(2)} us a line, ${alone.toFixed(2)} us without the facts\n`);
}
