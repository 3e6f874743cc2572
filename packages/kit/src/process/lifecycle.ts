import type { Dependencies } from './health.ts';
import type { Logger } from './log.ts';
import type { Tls } from './tls.ts';

/** The things that a process hands to the service that it runs. */
export interface Surroundings {
  log: Logger;
  /** Absent: the service listens and connects without TLS. */
  tls?: Tls | undefined;
}

/** A service, which runs until it is stopped. */
export interface Service<Addresses extends Record<string, string> = Record<string, string>> {
  /** Opens its connections and starts to serve. @returns the address of each listener, as `host:port` */
  start(): Promise<Addresses>;
  /** Drains and closes everything, in reverse order of opening. A second call waits for the first. */
  stop(): Promise<void>;
  /** For the health listener of the process. */
  dependencies?: Dependencies;
}

interface Step {
  name: string;
  close: () => unknown;
  timeoutMs: number;
}

/** A list of things to close, in reverse order of opening. Each step has a time limit, so that a step that hangs can't stop the others. */
export class Closer {
  readonly #steps: Step[] = [];
  readonly #log: Logger;
  #closing: Promise<void> | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  /**
   * Adds a step. If the closing has begun, because the stop came during the start, the step is taken at once.
   * @param timeoutMs the time after which the next step is taken, in milliseconds
   */
  defer(name: string, close: () => unknown, timeoutMs = 10_000): void {
    const step = { name, close, timeoutMs };
    if (this.#closing) this.#closing = this.#closing.then(() => this.#take(step));
    else this.#steps.push(step);
  }

  close(): Promise<void> {
    this.#closing ??= this.#run();
    return this.#closing;
  }

  async #run(): Promise<void> {
    for (const step of this.#steps.toReversed()) await this.#take(step);
  }

  async #take({ name, close, timeoutMs }: Step): Promise<void> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error(`took longer than ${timeoutMs} ms`)), timeoutMs);
    try {
      await Promise.race([close(), late.promise]);
    } catch (error) {
      this.#log.warn({ err: error, step: name }, 'could not close cleanly');
    } finally {
      clearTimeout(timer);
    }
  }
}

const FORCE_AFTER_MS = 45_000;

/**
 * Runs a service until SIGTERM or SIGINT, then stops it. A second signal ends the process at once, and so does a stop that takes
 * longer than 45 s.
 *
 * A stop takes these steps. On SIGTERM `/readyz` fails at once. A gateway serves on for its lame-duck time (5 s), in which each answer ends its
 * connection, and then finishes open requests until the longest deadline (11 s, for tools 16 s). Another service refuses new calls at once, tells its
 * clients (GOAWAY) and finishes open calls (16 s at most). Clients, pools and telemetry follow, usually within milliseconds. So an idle service stops
 * in a moment, a gateway in 5 to 20 s, and no process takes longer than 45 s. Kubernetes grants 60 s, because it waits 5 s before the SIGTERM, until the
 * pod has left the list of endpoints.
 */
export async function runUntilSignal(service: Service, log: Logger): Promise<void> {
  const stopped = Promise.withResolvers<void>();
  let stopping = false;
  const onSignal = (signal: string) => {
    if (stopping) process.exit(130);
    stopping = true;
    log.info({ signal }, 'stopping');
    setTimeout(() => process.exit(1), FORCE_AFTER_MS).unref();
    service.stop().then(stopped.resolve, stopped.reject);
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  try {
    const addresses = await service.start();
    if (!stopping) log.info({ addresses }, 'ready');
    await stopped.promise;
  } catch (error) {
    // A stop during the start makes the start fail.
    if (!stopping) throw error;
  } finally {
    await service.stop();
    process.off('SIGTERM', onSignal);
    process.off('SIGINT', onSignal);
  }
}
