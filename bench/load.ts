import { Agent, request } from 'node:http';
import { cpuSeconds } from './system.ts';

export interface Result {
  requests: number;
  perSecond: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  /** CPU milliseconds a request, by process. */
  cpu: Map<string, number>;
  total: number;
}

/** Sends `requests` requests, POST where there is a body, `concurrency` at a time over kept connections, and accounts the CPU that these processes used for them. */
export async function measure(
  url: string,
  headers: Record<string, string>,
  { requests, concurrency, body }: { requests: number; concurrency: number; body?: string },
  pids: Map<string, number>,
): Promise<Result> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const times: number[] = [];
  let left = requests;
  const before = await cpuSeconds(pids);
  const begun = performance.now();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (left-- > 0) {
        const started = performance.now();
        await send(url, headers, agent, body);
        times.push(performance.now() - started);
      }
    }),
  );
  const seconds = (performance.now() - begun) / 1000;
  const after = await cpuSeconds(pids);
  agent.destroy();
  times.sort((a, b) => a - b);
  const cpu = new Map([...after].map(([name, used]) => [name, ((used - before.get(name)!) * 1000) / requests]));
  return {
    requests,
    perSecond: requests / seconds,
    p50: times[Math.floor(times.length * 0.5)]!,
    p99: times[Math.floor(times.length * 0.99)]!,
    cpu,
    total: [...cpu.values()].reduce((sum, value) => sum + value, 0),
  };
}

function send(url: string, headers: Record<string, string>, agent: Agent, body: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    request(url, { method: body === undefined ? 'GET' : 'POST', headers, agent }, (response) => {
      response.resume();
      response.on('end', () => (response.statusCode === 200 ? resolve() : reject(new Error(`status ${response.statusCode}`))));
      response.on('error', reject);
    })
      .on('error', reject)
      .end(body);
  });
}
