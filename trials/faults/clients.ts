/** The load of the fault trials: clients that send requests to the gateways and report the outcome of each. */
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendRequest } from '@crs/testing/send-request';
import type { Balancer } from './balancer.ts';
import type { RepeatedRequest, Verdict } from './requests.ts';

/** Prints a line for the person who runs the trial. */
export const say = (line: string) => void process.stdout.write(`${line}\n`);

/** The result of one request. */
export interface Outcome extends Verdict {
  request: string;
  /** When the request was sent, in epoch milliseconds. */
  sentAt: number;
  /** Milliseconds from sending the request to the end of its response. */
  took: number;
}

export interface LoadOptions {
  /** Chooses the replica for each request. Stopped with the load. */
  balancer: Pick<Balancer, 'order' | 'stop'>;
  requests: RepeatedRequest[];
  /** Number of clients. Each sends one request after another. Half of them use persistent connections, half a new one for each request. */
  clients: number;
  /** The mean pause of a client between two requests (milliseconds). */
  pauseMs: number;
  onOutcome: (outcome: Outcome) => void;
}

/** Starts clients that send requests until they are stopped. */
export function startLoad(options: LoadOptions): { stop(): Promise<void> } {
  const { balancer } = options;
  let stopped = false;
  const client = async (number: number) => {
    const agents = new Map<string, Agent>();
    const keepsConnections = number % 2 === 0;
    const agentOf = (address: string) => {
      if (!keepsConnections) return false;
      const agent = agents.get(address) ?? new Agent({ keepAlive: true, maxSockets: 1 });
      agents.set(address, agent);
      return agent;
    };
    for (let index = number; !stopped; index++) {
      const request = options.requests[index % options.requests.length]!;
      options.onOutcome(await send(request, balancer.order(request.gateway), agentOf));
      await sleep(options.pauseMs * (0.5 + Math.random()));
    }
    for (const agent of agents.values()) agent.destroy();
  };
  const clients = Array.from({ length: options.clients }, (_, number) => client(number));
  return {
    stop: async () => {
      stopped = true;
      await Promise.all(clients);
      balancer.stop();
    },
  };
}

/** Sends a request as a load balancer does: after a refused connection, tries the next replica. Any other failure is returned. */
async function send(request: RepeatedRequest, replicas: string[], agentOf: (address: string) => Agent | false): Promise<Outcome> {
  const sentAt = Date.now();
  const started = performance.now();
  const outcome = (verdict: Verdict): Outcome => ({
    request: request.name,
    sentAt,
    took: performance.now() - started,
    ...verdict,
  });
  const prepared = request.prepare();
  for (const [index, address] of replicas.entries()) {
    try {
      const options = { agent: agentOf(address), method: request.method, headers: prepared.headers, timeout: TIMEOUT_MS };
      const response = await sendRequest(`http://${address}${request.path}`, options, prepared.body);
      return outcome(request.evaluate(response, prepared));
    } catch (error) {
      const { code = '', message } = error as NodeJS.ErrnoException;
      if (code === 'ECONNREFUSED' && index < replicas.length - 1) continue;
      return outcome({ status: 0, wrong: code || message, served: false });
    }
  }
  throw new Error('no replica to send the request to');
}

/** One second longer than the longest deadline of a request. */
const TIMEOUT_MS = 16_000;
