/** Receivers of the trials, at one port, by path. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import type { PythonVerifier } from './python-verifier.ts';

export interface Change {
  type: string;
  call_id: string | null;
  changed_at: string;
}

export type Respond = (response: ServerResponse) => void;

const VERIFIERS = { standardwebhooks: Webhook, svix: SvixWebhook };
const ACCEPT: Respond = (response) => void response.writeHead(204).end();

/** What one endpoint received. Verifies each message by several libraries, and that repeats are equal. */
export class Receiver {
  readonly faults: string[] = [];
  /** Accepted messages, each once, in order. */
  readonly accepted: { changes: Change[]; at: number }[] = [];
  deliveries = 0;
  respond = ACCEPT;
  secret = '';
  readonly #bodies = new Map<string, string>();
  readonly #acceptedIds = new Set<string>();
  readonly #python: PythonVerifier | undefined;

  constructor(python?: PythonVerifier) {
    this.#python = python;
  }

  receive(body: string, headers: Record<string, string>, response: ServerResponse): void {
    this.deliveries++;
    const id = headers['webhook-id'];
    for (const [library, Verifier] of Object.entries(VERIFIERS)) {
      try {
        new Verifier(this.secret).verify(body, headers);
      } catch (error) {
        this.faults.push(`the message ${id} is not valid by ${library}: ${String(error)}`);
      }
    }
    this.#python?.verify(this.secret, body, headers);
    if ((this.#bodies.get(id) ?? body) !== body) this.faults.push(`the message ${id} was repeated with another body`);
    this.#bodies.set(id, body);
    this.respond(response);
    if (response.statusCode !== 204 || this.#acceptedIds.has(id)) return;
    this.#acceptedIds.add(id);
    const { changes } = (JSON.parse(body) as { data: { changes?: Change[] } }).data;
    if (changes) this.accepted.push({ changes, at: performance.now() });
  }

  /** The last change of each call. Reports a change that is older than an earlier one. */
  lastChanges(): Map<string, Change> {
    const last = new Map<string, Change>();
    for (const change of this.accepted.flatMap(({ changes }) => changes)) {
      const id = change.call_id ?? '';
      const before = last.get(id);
      if (before && before.changed_at > change.changed_at) this.faults.push(`${id} went back to ${change.changed_at}`);
      last.set(id, change);
    }
    return last;
  }
}

/** An HTTP server of receivers, which can be killed and started again. */
export class Receivers {
  readonly byPath = new Map<string, Receiver>();
  #server: Server | undefined;
  readonly #port: number;
  readonly #python: PythonVerifier | undefined;

  /** @param python verifies each message, too */
  constructor(port: number, python?: PythonVerifier) {
    this.#port = port;
    this.#python = python;
  }

  get host(): string {
    return `127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    this.#server = createServer((request, response) => void this.#handle(request, response));
    await once(this.#server.listen(this.#port, '127.0.0.1'), 'listening');
  }

  /** Cuts all connections. */
  stop(): void {
    this.#server?.close();
    this.#server?.closeAllConnections();
  }

  add(path: string): Receiver {
    const receiver = new Receiver(this.#python);
    this.byPath.set(path, receiver);
    return receiver;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      const receiver = this.byPath.get(request.url!.slice(1));
      receiver?.receive(Buffer.concat(chunks).toString(), request.headers as Record<string, string>, response);
    } catch {
      // The request was cut.
    }
  }
}
