import type { Dependencies } from './health.ts';
import type { Logger } from './log.ts';
import { withTimeout } from './timeout.ts';
import type { Tls } from './tls.ts';

/** What a process provides to its service. */
export interface Runtime {
  log: Logger;
  /** Absent: the service listens and connects without TLS. */
  tls?: Tls | undefined;
}

export interface Service<Addresses extends Record<string, string> = Record<string, string>> {
  /** Connects and starts to serve. @returns the address of each listener, as `host:port` */
  start(): Promise<Addresses>;
  /** Drains and closes everything, in reverse order of opening. A second call waits for the first. */
  stop(): Promise<void>;
  dependencies?: Dependencies;
}

interface ShutdownStep {
  name: string;
  close: () => unknown;
  timeoutMs: number;
}

/** The shutdown of a service: closes its resources in reverse order of opening. Each step has a timeout, so that one that hangs can't block the others. */
export class Shutdown {
  readonly #steps: ShutdownStep[] = [];
  readonly #log: Logger;
  #running: Promise<void> | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  /**
   * Adds a step. If the shutdown has already begun, because the service was stopped while it started, the step runs at once.
   * @param timeoutMs after this time the next step runs
   */
  defer(name: string, close: () => unknown, timeoutMs = 10_000): void {
    const step = { name, close, timeoutMs };
    if (this.#running) this.#running = this.#running.then(() => this.#runStep(step));
    else this.#steps.push(step);
  }

  run(): Promise<void> {
    this.#running ??= this.#runAll();
    return this.#running;
  }

  async #runAll(): Promise<void> {
    for (const step of this.#steps.toReversed()) await this.#runStep(step);
  }

  async #runStep({ name, close, timeoutMs }: ShutdownStep): Promise<void> {
    try {
      await withTimeout(Promise.resolve(close()), timeoutMs);
    } catch (error) {
      this.#log.warn({ err: error, step: name }, 'could not close cleanly');
    }
  }
}

const FORCE_AFTER_MS = 60_000;

/**
 * Runs a service until SIGTERM or SIGINT, then stops it. A second signal ends the process at once, and so does a stop that takes longer than 60 s.
 *
 * On SIGTERM, `/readyz` fails at once. A gateway keeps serving for its drain period (5 s), closes each connection after its next response, and then
 * finishes requests in flight (up to 31 s, for tools 16 s). Other services refuse new calls at once (GOAWAY) and finish calls in flight (up to 31 s).
 * Clients, pools and telemetry are closed last, usually within milliseconds. The chart's grace period is 75 s. It includes a preStop
 * sleep of 5 s, so that the pod has left the endpoints before SIGTERM.
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
    // The stop makes a pending start fail.
    if (!stopping) throw error;
  } finally {
    await service.stop();
    process.off('SIGTERM', onSignal);
    process.off('SIGINT', onSignal);
  }
}
