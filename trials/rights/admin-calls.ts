import { globSync } from 'node:fs';
import { connect, type ClientHttp2Session } from 'node:http2';
import type { Stream } from './watch.ts';

/** What one operator shows: the credential, and its tokens for one organization and for none. */
export interface Shown {
  credential: string;
  tokens: readonly string[];
}

interface Method {
  path: string;
  requestDeserialize: (bytes: Buffer) => object;
  requestSerialize: (request: object) => Buffer;
}

interface Call {
  /** `ImportService.ImportRecords at calls`. */
  name: string;
  session: ClientHttp2Session;
  method: Method;
  /** Which of the tokens the RPC takes. */
  token: number;
}

const GENERATED = new URL('../../proto/gen/', import.meta.url);
/** Status codes of gRPC. */
const PERMISSION_DENIED = 7;
const UNIMPLEMENTED = 12;
const UNAVAILABLE = 14;
const UNAUTHENTICATED = 16;

/** Every RPC that an admin listener serves: each method of the protos is asked for at each listener. */
export class AdminCalls {
  readonly #sessions: ClientHttp2Session[] = [];
  readonly #calls: Call[] = [];

  /**
   * @param listeners `host:port` of admin listeners, by a name for each
   * @param admin an operator who may call everything
   */
  static async find(listeners: [string, string][], admin: Shown): Promise<AdminCalls> {
    const found = new AdminCalls();
    const methods = await methodsOf();
    for (const [listener, address] of listeners) {
      const session = connect(`http://${address}`);
      found.#sessions.push(session);
      for (const method of methods) {
        const name = `${method.path.split('.').at(-1)!.replace('/', '.')} at ${listener}`;
        const statuses = await Promise.all([0, 1].map((token) => ask({ name, session, method, token }, admin)));
        if (statuses.includes(UNIMPLEMENTED)) continue;
        const token = statuses.findIndex((status) => ![PERMISSION_DENIED, UNAUTHENTICATED].includes(status));
        if (token === -1) throw new Error(`${name} refuses an admin: ${statuses.join()}`);
        found.#calls.push({ name, session, method, token });
      }
    }
    return found;
  }

  /** The RPCs as calls of an operator. */
  streams(operator: Shown): Stream[] {
    return this.#calls.map((call) => ({
      name: call.name,
      ask: async () => {
        const status = await ask(call, operator);
        if (status === UNAVAILABLE) throw new Error(`${call.name} isn't available.`);
        return ![PERMISSION_DENIED, UNAUTHENTICATED].includes(status);
      },
    }));
  }

  close(): void {
    for (const session of this.#sessions) session.close();
  }
}

/** The methods of all services in the generated code. */
async function methodsOf(): Promise<Method[]> {
  const modules = globSync('crs/**/*.ts', { cwd: GENERATED.pathname });
  const contents = await Promise.all(modules.map((path) => import(new URL(path, GENERATED).href) as Promise<object>));
  return contents
    .flatMap((content) => Object.entries(content))
    .filter(([name]) => name.endsWith('ServiceService'))
    .flatMap(([, definition]) => Object.values(definition as Record<string, Method>));
}

/** Sends an empty request. It holds the credential where the RPC has a field for it. @returns the status code */
function ask({ session, method, token }: Call, { credential, tokens }: Shown): Promise<number> {
  const message = method.requestSerialize(Object.assign(method.requestDeserialize(Buffer.alloc(0)), { credential }));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': method.path,
      'content-type': 'application/grpc',
      te: 'trailers',
      authorization: `Bearer ${tokens[token]}`,
    });
    const settle = (headers: Record<string, unknown>) => {
      if (headers['grpc-status'] !== undefined) resolve(Number(headers['grpc-status']));
    };
    stream.on('response', settle).on('trailers', settle).on('error', reject).resume();
    stream.end(Buffer.concat([head, message]));
  });
}
