import { Agent, request } from 'node:http';
import { median, quantile } from './report.ts';
import { cpuSeconds } from './system.ts';

type Each<T> = T | ((n: number) => T);

export interface Result {
  perSecond: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  /** CPU milliseconds for a request, by process. */
  cpu: Map<string, number>;
  /** The sum of `cpu`. */
  total: number;
}

/**
 * Sends `requests` requests over kept connections, `concurrency` at a time, as POST where there is a body, and expects `status`. Measures the
 * CPU time of these processes, too. An address or headers that differ from request to request are functions of its number.
 */
export async function measure(
  url: Each<string>,
  headers: Each<Record<string, string>>,
  { requests, concurrency, body, status = 200 }: { requests: number; concurrency: number; body?: string; status?: number },
  pids: Map<string, number>,
): Promise<Result> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const times: number[] = [];
  let left = requests;
  const before = cpuSeconds(pids);
  const begun = performance.now();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (left-- > 0) {
        const started = performance.now();
        await send(of(url, left), of(headers, left), agent, { body, status });
        times.push(performance.now() - started);
      }
    }),
  );
  const seconds = (performance.now() - begun) / 1000;
  const after = cpuSeconds(pids);
  agent.destroy();
  const cpu = new Map([...after].map(([name, used]) => [name, ((used - before.get(name)!) * 1000) / requests]));
  return {
    perSecond: requests / seconds,
    p50: median(times),
    p99: quantile(times, 0.99),
    cpu,
    total: [...cpu.values()].reduce((sum, value) => sum + value, 0),
  };
}

function of<T extends string | object>(each: Each<T>, n: number): T {
  return typeof each === 'function' ? each(n) : each;
}

function send(
  url: string,
  headers: Record<string, string>,
  agent: Agent,
  { body, status }: { body: string | undefined; status: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    request(url, { method: body === undefined ? 'GET' : 'POST', headers, agent }, (response) => {
      response.resume();
      response.on('end', () => (response.statusCode === status ? resolve() : reject(new Error(`status ${response.statusCode}`))));
      response.on('error', reject);
    })
      .on('error', reject)
      .end(body);
  });
}
