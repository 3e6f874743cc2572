import type { Logger } from './log.ts';
import type { Tls } from './tls.ts';

/** What a service gets from the process around it. */
export interface Surroundings {
  log: Logger;
  /** Absent: plaintext, inward and outward. */
  tls?: Tls | undefined;
}

/** Something that runs until it is stopped. */
export interface Service<Addresses extends Record<string, string> = Record<string, string>> {
  /** Opens what it needs and starts to serve. @returns where it listens, by listener, as `host:port` */
  start(): Promise<Addresses>;
  /** Drains and closes, in reverse order of opening. Stopping twice is one stop. */
  stop(): Promise<void>;
}

interface Step {
  name: string;
  close: () => unknown;
  timeoutMs: number;
}

/** What was opened, to be closed in reverse order; each step bounded, so that one that hangs can't hold the others. */
export class Closer {
  readonly #steps: Step[] = [];
  readonly #log: Logger;
  #closing: Promise<void> | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  /**
   * What is opened only after the closing began, by a start that is still under way, is closed at once.
   * @param timeoutMs after which the next step is taken
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

/**
 * How a process stops, and how long that may take. On SIGTERM `/readyz` fails at once. A gateway then serves on for its lame-duck time
 * (5 s), each answer ending its connection, and finishes what is under way (until the longest deadline: 11 s, the tools 16 s). Other
 * services take nothing more at once, tell their clients (GOAWAY) and finish what is under way (16 s at most). Clients, pools and telemetry
 * follow, in milliseconds as a rule. So an idle process stops in a moment, a gateway in 5 s, none takes longer than 45 s; an orchestrator
 * that waits before its SIGTERM until nobody is told of the pod any more (5 s) grants 60 s in all.
 *
 * Runs a service until SIGTERM or SIGINT, then stops it. A second signal ends the process at once, and so does a stop that takes
 * longer than `forceAfterMs`.
 */
export async function runUntilSignal(service: Service, log: Logger, forceAfterMs = 45_000): Promise<void> {
  const stopped = Promise.withResolvers<void>();
  let stopping = false;
  const onSignal = (signal: string) => {
    if (stopping) process.exit(130);
    stopping = true;
    log.info({ signal }, 'stopping');
    setTimeout(() => process.exit(1), forceAfterMs).unref();
    service.stop().then(stopped.resolve, stopped.reject);
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  try {
    const addresses = await service.start();
    if (!stopping) log.info({ addresses }, 'ready');
    await stopped.promise;
  } catch (error) {
    // What is being closed under it makes a start fail.
    if (!stopping) throw error;
  } finally {
    await service.stop();
    process.off('SIGTERM', onSignal);
    process.off('SIGINT', onSignal);
  }
}
