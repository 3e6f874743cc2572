/** A load generator in its own process. Reads an `Offer` as JSON from standard input, and prints an `Offered` as JSON. */
import { spawn } from 'node:child_process';
import { Agent, request } from 'node:http';
import { setPriority } from 'node:os';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { quantile } from './report.ts';

export interface Offer {
  /** Each request uses the next credential. Once all credentials were used, the next target follows. */
  targets: Target[];
  /** Keys or tokens. Absent: the targets' own headers contain the credential. */
  credentials?: string[];
  headers?: Record<string, string>;
  /** Start of the load, in epoch milliseconds. Later than the start of all programs, which isn't measured. */
  beginsAt: number;
  seconds: number;
  /** Requests per second, sent when due even if earlier ones have no response yet. Absent: each connection sends one request after another. */
  perSecond?: number;
  /** How many requests are sent at once when one is due. Default: one. */
  together?: number;
  /** Maximum number of requests. */
  requests?: number;
  /** Number of connections. */
  concurrency: number;
  /** Nice value of the process: the measured load has a higher priority than the contending one. */
  nice: number;
}

export interface Target {
  url: string;
  /** Added to the headers of the offer. */
  headers?: Record<string, string>;
  /** Absent: the request is a GET. */
  body?: string;
}

export interface Offered {
  /** Number of responses by status; 0 counts requests without a response. */
  statuses: Record<string, number>;
  /** For each successful request, the milliseconds from its due time to the end of its response. */
  times: number[];
  /** From the first request to the last response. */
  seconds: number;
}

/** Longer than a load generator takes to start. */
const START_MS = 2_000;

/** Runs a load generator for each offer, all concurrently. @throws SyntaxError if one fails; its standard error has the reason */
export function runOffers(...offers: Omit<Offer, 'beginsAt'>[]): Promise<Offered[]> {
  const beginsAt = Date.now() + START_MS;
  return Promise.all(
    offers.map(async (offer) => {
      const generator = spawn(process.execPath, [fileURLToPath(import.meta.url)], { stdio: ['pipe', 'pipe', 'inherit'] });
      generator.stdin.end(JSON.stringify({ ...offer, beginsAt }));
      return (await json(generator.stdout)) as Offered;
    }),
  );
}

/** `17 x 200, 3 x 429` */
export function countStatuses({ statuses }: Offered): string {
  return Object.entries(statuses)
    .map(([status, count]) => `${count} x ${status}`)
    .join(', ');
}

/** `p50 17.0 ms, p99 30.1 ms` */
export function describe({ times }: Offered): string {
  return `p50 ${quantile(times, 0.5).toFixed(1)} ms, p99 ${quantile(times, 0.99).toFixed(1)} ms`;
}

/** Sends the requests of an offer, immediately and in this process. */
export async function generateLoad(offer: Omit<Offer, 'beginsAt' | 'nice'>): Promise<Offered> {
  const agent = new Agent({ keepAlive: true, maxSockets: offer.concurrency });
  const times: number[] = [];
  const statuses: Offered['statuses'] = {};
  const most = offer.requests ?? Infinity;
  const started = performance.now();
  const end = started + offer.seconds * 1_000;
  let sent = 0;

  function send(due: number): Promise<void> {
    const n = sent++;
    const { credentials, targets } = offer;
    const target = targets[Math.floor(n / (credentials?.length ?? 1)) % targets.length]!;
    const { url, body } = target;
    const authorization = credentials && { authorization: `Bearer ${credentials[n % credentials.length]}` };
    const headers = { ...offer.headers, ...target.headers, ...authorization };
    return new Promise((resolve) => {
      const done = (status: number) => {
        statuses[status] = (statuses[status] ?? 0) + 1;
        if (status >= 200 && status < 400) times.push(performance.now() - due);
        resolve();
      };
      request(url, { method: body === undefined ? 'GET' : 'POST', headers, agent }, (response) => {
        response
          .resume()
          .once('end', () => done(response.statusCode!))
          .once('error', () => done(0));
      })
        .once('error', () => done(0))
        .end(body);
    });
  }

  const underWay: Promise<void>[] = [];
  if (offer.perSecond === undefined) {
    const lane = async () => {
      while (performance.now() < end && sent < most) await send(performance.now());
    };
    underWay.push(...Array.from({ length: offer.concurrency }, lane));
  } else {
    // Random intervals, so that requests don't synchronize with timers of the system.
    for (let due = started; due < end && sent < most; due += (1_000 / offer.perSecond) * (0.5 + Math.random())) {
      if (due > performance.now()) await sleep(due - performance.now());
      for (let n = 0; n < (offer.together ?? 1); n++) underWay.push(send(Math.max(due, performance.now() - 2)));
    }
  }
  await Promise.all(underWay);
  agent.destroy();
  return { statuses, times, seconds: (performance.now() - started) / 1_000 };
}

if (import.meta.main) {
  const offer = (await json(process.stdin)) as Offer;
  try {
    setPriority(offer.nice);
  } catch {
    // Only root may raise the priority.
  }
  // On a busy machine, this process may have started too late.
  await sleep(Math.max(0, offer.beginsAt - Date.now()));
  console.log(JSON.stringify(await generateLoad(offer)));
}
