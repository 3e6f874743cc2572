import { Agent, request, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Question } from './questions.ts';

/** For people who watch. */
export const say = (line: string) => void process.stdout.write(`${line}\n`);

/** What became of one question. */
export interface Outcome {
  question: string;
  /** Of HTTP; 0 where no answer came. */
  status: number;
  /** Why the answer is one that nobody may get, whatever is down. */
  wrong: string | undefined;
  /** Epoch milliseconds. */
  asked: number;
  /** In milliseconds. */
  took: number;
  /** Tool results that are errors count as what they stand for: 503 or 504. */
  served: boolean;
}

export interface LoadOptions {
  /** `host:port` of each gateway's replicas. */
  api: string[];
  tools: string[];
  questions: Question[];
  /** Clients that ask one question after the other, each over connections of its own. */
  clients: number;
  /** Between two questions of a client, in milliseconds. */
  pauseMs: number;
  onOutcome: (outcome: Outcome) => void;
}

/** Clients that ask all the time, until they are stopped. */
export interface Load {
  stop(): Promise<void>;
}

export function startLoad(options: LoadOptions): Load {
  let stopped = false;
  const client = async (number: number) => {
    const agents = new Map<string, Agent>();
    const agentOf = (address: string) => {
      const known = agents.get(address) ?? new Agent({ keepAlive: true, maxSockets: 1 });
      agents.set(address, known);
      return known;
    };
    for (let turn = number; !stopped; turn++) {
      const question = options.questions[turn % options.questions.length]!;
      const replicas = options[question.gateway];
      // Not in step with the questions, so that each replica gets each of them.
      const first = Math.floor(Math.random() * replicas.length);
      const order = [...replicas.slice(first), ...replicas.slice(0, first)];
      options.onOutcome(await ask(question, order, agentOf));
      await sleep(options.pauseMs * (0.5 + Math.random()));
    }
    for (const agent of agents.values()) agent.destroy();
  };
  const clients = Array.from({ length: options.clients }, (_, number) => client(number));
  return {
    stop: async () => {
      stopped = true;
      await Promise.all(clients);
    },
  };
}

/** As any load balancer asks: where a connection is refused, the next replica is tried; whatever else fails, fails. */
async function ask(question: Question, replicas: string[], agentOf: (address: string) => Agent): Promise<Outcome> {
  const asked = Date.now();
  const started = performance.now();
  const outcome = (rest: Pick<Outcome, 'status' | 'wrong' | 'served'>): Outcome => ({
    question: question.name,
    asked,
    took: performance.now() - started,
    ...rest,
  });
  const prepared = question.prepare();
  for (const [index, address] of replicas.entries()) {
    try {
      const answer = await send(address, agentOf(address), question, prepared);
      return outcome(question.judge(answer, prepared));
    } catch (error) {
      const { code = '', message } = error as NodeJS.ErrnoException;
      if (code === 'ECONNREFUSED' && index < replicas.length - 1) continue;
      return outcome({ status: 0, wrong: code || message, served: false });
    }
  }
  throw new Error('there is no replica');
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Prepared {
  headers: Record<string, string>;
  body?: string;
}

/** Longest that a client waits: a second more than the longest deadline. */
const PATIENCE_MS = 16_000;

function send(address: string, agent: Agent, { method, path }: Question, { headers, body }: Prepared): Promise<Answer> {
  const [host, port] = address.split(':');
  return new Promise((resolve, reject) => {
    const sent = request({ host, port, agent, method, path, headers, timeout: PATIENCE_MS }, (response) => {
      text(response).then((read) => resolve({ status: response.statusCode!, headers: response.headers, body: read }), reject);
    });
    sent.on('timeout', () => sent.destroy(Object.assign(new Error('no answer'), { code: 'NO_ANSWER' })));
    sent.on('error', reject);
    sent.end(body);
  });
}
