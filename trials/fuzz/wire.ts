/** A client of HTTP/1.1 that sends bytes as they are and parses answers strictly. */
import { createConnection, type Socket } from 'node:net';

export interface WireAnswer {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed body; undefined where it isn't JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- answers are looked into freely
  json: any;
}

/** No answer came, or the answer isn't HTTP. */
export class WireError extends Error {
  /** Whether not one byte of an answer came. */
  readonly isSilence: boolean;

  constructor(message: string, isSilence = false) {
    super(message);
    this.isSilence = isSilence;
  }
}

const TIMEOUT_MS = 30_000;
const UTF8 = new TextDecoder('utf-8', { fatal: true });
/** May be there more than once. */
const REPEATABLE = new Set(['set-cookie', 'vary']);

/** A connection that is opened when it is needed and kept as long as the server keeps it. */
export class Connection {
  readonly #address: string;
  #socket: Socket | undefined;
  #received: Buffer = Buffer.alloc(0);
  #isEnded = false;
  #isUsed = false;
  #wake: (() => void) | undefined;

  /** @param address `host:port` */
  constructor(address: string) {
    this.#address = address;
  }

  /** Sends a request in one piece and reads its answer. Opens a new connection where the server has closed the kept one. */
  async exchange(bytes: Buffer, method: string): Promise<WireAnswer> {
    if (this.#isEnded) this.close();
    const wasUsed = this.#isUsed;
    try {
      return await this.#exchangeOnce(bytes, method);
    } catch (error) {
      this.close();
      if (!(wasUsed && error instanceof WireError && error.isSilence)) throw error;
      return this.#exchangeOnce(bytes, method);
    }
  }

  async #exchangeOnce(bytes: Buffer, method: string): Promise<WireAnswer> {
    if (this.#received.length > 0)
      throw new WireError(`bytes that nobody asked for: ${this.#received.toString('latin1', 0, 200)}`);
    this.send(bytes);
    const answer = await this.read(method);
    if (answer.headers.get('connection') === 'close') this.close();
    return answer;
  }

  send(bytes: Buffer): void {
    this.#socket ??= this.#connect();
    this.#isUsed = true;
    this.#socket.write(bytes);
  }

  /** Reads the next answer and skips interim ones. @throws WireError */
  async read(method: string): Promise<WireAnswer> {
    for (;;) {
      const end = await this.#find('\r\n\r\n');
      const [statusLine = '', ...lines] = this.#take(end + 4)
        .toString('latin1')
        .trimEnd()
        .split('\r\n');
      const status = Number(/^HTTP\/1\.1 ([1-5]\d\d) [\x20-\x7e]*$/.exec(statusLine)?.[1] ?? NaN);
      if (Number.isNaN(status)) throw new WireError(`no status line: ${statusLine.slice(0, 200)}`);
      const headers = parseHeaders(lines);
      if (status < 200) continue;
      const text = decode(await this.#body(method, status, headers));
      return { status, headers, text, json: parseJson(headers, text) };
    }
  }

  /** Waits until the server closes the connection. @returns the bytes that are left after the answers */
  async ended(): Promise<Buffer> {
    while (!this.#isEnded) await this.#more();
    return this.#received;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
    this.#received = Buffer.alloc(0);
    this.#isEnded = false;
    this.#isUsed = false;
  }

  async #body(method: string, status: number, headers: Headers): Promise<Buffer> {
    if (method === 'HEAD' || status === 204 || status === 304) return Buffer.alloc(0);
    const length = headers.get('content-length');
    if (length !== null) {
      if (!/^\d+$/.test(length)) throw new WireError(`Content-Length: ${length}`);
      while (this.#received.length < Number(length)) await this.#more();
      return this.#take(Number(length));
    }
    if (headers.get('connection') === 'close' && !headers.has('transfer-encoding')) {
      // Without a length, the body ends with the connection, as in HTTP/1.0.
      while (!this.#isEnded) await this.#more();
      return this.#take(this.#received.length);
    }
    if (headers.get('transfer-encoding') !== 'chunked') throw new WireError(`${status} has neither length nor chunks`);
    const chunks: Buffer[] = [];
    for (;;) {
      const size = parseInt(this.#take((await this.#find('\r\n')) + 2).toString('latin1'), 16);
      while (this.#received.length < size + 2) await this.#more();
      chunks.push(this.#take(size));
      this.#take(2);
      if (size === 0) return Buffer.concat(chunks);
    }
  }

  async #find(what: string): Promise<number> {
    for (;;) {
      const at = this.#received.indexOf(what, 0, 'latin1');
      if (at !== -1) return at;
      await this.#more();
    }
  }

  #take(length: number): Buffer {
    const taken = this.#received.subarray(0, length);
    this.#received = this.#received.subarray(length);
    return taken;
  }

  async #more(): Promise<void> {
    if (this.#isEnded) throw new WireError('the connection was closed before the answer was there', this.#received.length === 0);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), TIMEOUT_MS);
    this.#wake = () => resolve(true);
    const isAwake = await promise;
    clearTimeout(timer);
    if (!isAwake) throw new WireError(`no answer within ${TIMEOUT_MS / 1000} s`);
  }

  #connect(): Socket {
    const [host, port] = this.#address.split(':');
    const socket = createConnection({ host: host!, port: Number(port), noDelay: true });
    // A server may answer and hang up before it has read the whole request. The answer counts.
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      if (this.#socket !== socket) return;
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
      this.#wake?.();
    });
    const ended = () => {
      if (this.#socket !== socket) return;
      this.#isEnded = true;
      this.#wake?.();
    };
    socket.on('end', ended).on('close', ended);
    return socket;
  }
}

function parseHeaders(lines: string[]): Headers {
  const headers = new Headers();
  for (const line of lines) {
    const [, name = '', value = ''] = /^([!#$%&'*+.^_`|~\w-]+): ?([\x20-\x7e]*)$/.exec(line) ?? [];
    if (name === '') throw new WireError(`no header: ${line.slice(0, 200)}`);
    if (headers.has(name) && !REPEATABLE.has(name.toLowerCase())) throw new WireError(`${name} twice`);
    headers.append(name, value);
  }
  return headers;
}

function decode(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new WireError('the body is not UTF-8');
  }
}

function parseJson(headers: Headers, text: string): unknown {
  if (text === '' || !headers.get('content-type')?.startsWith('application/json')) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new WireError(`the body is not JSON: ${text.slice(0, 200)}`);
  }
}
