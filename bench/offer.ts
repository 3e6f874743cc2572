// A load generator in a process of its own: `node bench/offer.ts '<JSON of Offer>'` prints the JSON of an `Offered`.
import { Agent, request } from 'node:http';
import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Offer {
  /** Where, and with which keys: they take turns. */
  urls: string[];
  keys: string[];
  seconds: number;
  /** Requests a second, sent when they are due whatever has become of the ones before. Absent: as many as `concurrency` lets through. */
  perSecond?: number;
  /** Connections. */
  concurrency: number;
  /** Of the process: what is measured must not wait for what disturbs it. */
  nice: number;
}

export interface Offered {
  /** How many of which status; 0: none. */
  statuses: Record<string, number>;
  /** Milliseconds from when a request was due to the end of its answer, of those that were served. */
  times: number[];
}

const offer = JSON.parse(process.argv[2]!) as Offer;
try {
  setPriority(offer.nice);
} catch {
  // Only root may have more than its share.
}
const agent = new Agent({ keepAlive: true, maxSockets: offer.concurrency });
const { times, statuses }: Offered = { times: [], statuses: {} };
const end = performance.now() + offer.seconds * 1_000;
let sent = 0;

function send(due: number): Promise<void> {
  const n = sent++;
  const headers = { authorization: `Bearer ${offer.keys[n % offer.keys.length]}` };
  return new Promise((resolve) => {
    const done = (status: number) => {
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (status === 200) times.push(performance.now() - due);
      resolve();
    };
    request(offer.urls[Math.floor(n / offer.keys.length) % offer.urls.length]!, { headers, agent }, (response) => {
      response
        .resume()
        .once('end', () => done(response.statusCode!))
        .once('error', () => done(0));
    })
      .once('error', () => done(0))
      .end();
  });
}

const underWay = new Set<Promise<void>>();
if (offer.perSecond === undefined) {
  const lanes = Array.from({ length: offer.concurrency }, async () => {
    while (performance.now() < end) await send(performance.now());
  });
  await Promise.all(lanes);
} else {
  const started = performance.now();
  // Not in step with anything of the system.
  for (let due = started; due < end; due += (1_000 / offer.perSecond) * (0.5 + Math.random())) {
    if (due > performance.now()) await sleep(due - performance.now());
    const one = send(Math.max(due, performance.now() - 2)).finally(() => underWay.delete(one));
    underWay.add(one);
  }
  await Promise.all(underWay);
}
agent.destroy();
console.log(JSON.stringify({ statuses, times } satisfies Offered));
