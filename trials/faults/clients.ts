import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendRequest } from '@crs/testing/send-request';
import type { Balancer } from './balancer.ts';
import type { Question, Verdict } from './questions.ts';

/** Prints a line for the person who runs the trial. */
export const say = (line: string) => void process.stdout.write(`${line}\n`);

/** The result of asking one question. */
export interface Outcome extends Verdict {
  question: string;
  /** When it was asked, in epoch milliseconds. */
  asked: number;
  /** In milliseconds. */
  took: number;
}

export interface LoadOptions {
  /** Chooses the replica for each request. It is stopped with the load. */
  balancer: Pick<Balancer, 'order' | 'stop'>;
  questions: Question[];
  /** Number of clients. Each asks one question after the other: half of them over kept connections, half over a new one each time. */
  clients: number;
  /** Mean pause of a client between two questions, in milliseconds. */
  pauseMs: number;
  onOutcome: (outcome: Outcome) => void;
}

/** Starts clients that ask until they are stopped. */
export function startLoad(options: LoadOptions): { stop(): Promise<void> } {
  const { balancer } = options;
  let stopped = false;
  const client = async (number: number) => {
    const agents = new Map<string, Agent>();
    const keepsConnections = number % 2 === 0;
    const agentOf = (address: string) => {
      if (!keepsConnections) return false;
      const known = agents.get(address) ?? new Agent({ keepAlive: true, maxSockets: 1 });
      agents.set(address, known);
      return known;
    };
    for (let turn = number; !stopped; turn++) {
      const question = options.questions[turn % options.questions.length]!;
      options.onOutcome(await ask(question, balancer.order(question.gateway), agentOf));
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

/** Asks as a load balancer does: after a refused connection it tries the next replica. Any other failure is the outcome. */
async function ask(question: Question, replicas: string[], agentOf: (address: string) => Agent | false): Promise<Outcome> {
  const asked = Date.now();
  const started = performance.now();
  const outcome = (verdict: Verdict): Outcome => ({
    question: question.name,
    asked,
    took: performance.now() - started,
    ...verdict,
  });
  const prepared = question.prepare();
  for (const [index, address] of replicas.entries()) {
    try {
      const options = { agent: agentOf(address), method: question.method, headers: prepared.headers, timeout: TIMEOUT_MS };
      const answer = await sendRequest(`http://${address}${question.path}`, options, prepared.body);
      return outcome(question.judge(answer, prepared));
    } catch (error) {
      const { code = '', message } = error as NodeJS.ErrnoException;
      if (code === 'ECONNREFUSED' && index < replicas.length - 1) continue;
      return outcome({ status: 0, wrong: code || message, served: false });
    }
  }
  throw new Error('there is no replica');
}

/** A second more than the longest deadline of a request. */
const TIMEOUT_MS = 16_000;
