import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** A module whose `run` may block, because it runs in another thread. Values are copied between the threads, so they must be plain data. */
export interface WorkerTask<Input, Output> {
  /** The `import.meta.url` of the module that exports `run`. */
  url: string;
  run: (input: Input) => Output;
}

let worker: Worker | undefined;
let idle: Promise<unknown> = Promise.resolve();

/**
 * Runs a task in the process's worker thread, for work that can't yield, such as `JSON.parse`. The thread starts with the first task. Tasks run one after
 * another; one that throws ends the thread, and the next task starts a new one. A task that exhausts its heap may end the whole process, so bound its memory.
 */
export function runInWorker<Input, Output>({ url }: WorkerTask<Input, Output>, input: Input): Promise<Output> {
  const output = idle.then(() => send(url, input));
  idle = output.catch(() => undefined);
  return output as Promise<Output>;
}

async function send(url: string, input: unknown): Promise<unknown> {
  worker ??= startWorker();
  // Rejects if the thread ends with an error.
  const response = once(worker, 'message');
  worker.postMessage({ url, input });
  const [output] = (await response) as [unknown];
  return output;
}

function startWorker(): Worker {
  const started = new Worker(new URL('worker-thread.ts', import.meta.url));
  // An idle thread must neither keep the process alive nor end it.
  started.unref();
  started.on('error', () => (worker = undefined));
  return started;
}
