/** Measures a load on a server: latencies, and the CPU time of its processes. */
import { countStatuses, generateLoad } from './offer.ts';
import { median, quantile } from './report.ts';
import { cpuSeconds } from './system.ts';

export interface Result {
  perSecond: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  /** CPU milliseconds per request, by process. */
  cpu: Map<string, number>;
  /** The sum of `cpu`. */
  total: number;
}

interface Sent {
  requests: number;
  concurrency: number;
  /** Requests with a body are POSTs. */
  body?: string;
  /** The status of each response; 200 by default. */
  status?: number;
  /** Keys or tokens, used in turn. */
  credentials?: string[];
}

/**
 * Sends requests over persistent connections, `concurrency` at a time, and measures the CPU time of the processes meanwhile. Several URLs are used in turn.
 * @throws Error if a response has another status
 */
export async function measure(
  urls: string | string[],
  headers: Record<string, string>,
  { status = 200, body, ...sent }: Sent,
  pids: Map<string, number>,
): Promise<Result> {
  const targets = [urls].flat().map((url) => ({ url, ...(body !== undefined && { body }) }));
  const before = cpuSeconds(pids);
  const offered = await generateLoad({ ...sent, targets, headers, seconds: Infinity });
  const after = cpuSeconds(pids);
  if (offered.statuses[status] !== sent.requests) throw new Error(`not all are ${status}: ${countStatuses(offered)}`);
  const cpu = new Map([...after].map(([name, used]) => [name, ((used - before.get(name)!) * 1000) / sent.requests]));
  return {
    perSecond: sent.requests / offered.seconds,
    p50: median(offered.times),
    p99: quantile(offered.times, 0.99),
    cpu,
    total: [...cpu.values()].reduce((sum, value) => sum + value, 0),
  };
}
