/** Entry point of the thread that `worker.ts` starts. */
import { parentPort } from 'node:worker_threads';
import type { WorkerTask } from './worker.ts';

// A task that fails ends the thread, and `worker.ts` gets its error from the thread's 'error' event.
parentPort!.on('message', (task: { url: string; input: unknown }) => void respond(task));

async function respond({ url, input }: { url: string; input: unknown }): Promise<void> {
  const { run } = (await import(url)) as Pick<WorkerTask<unknown, object>, 'run'>;
  const output = run(input);
  parentPort!.postMessage(output, [...buffersOf(output)]);
}

/** Finds the buffers in plain data, to transfer them: copying megabytes would block the receiver. */
function* buffersOf(value: unknown): Generator<ArrayBuffer> {
  if (typeof value !== 'object' || value === null) return;
  if (!(value instanceof Uint8Array)) for (const each of Object.values(value)) yield* buffersOf(each);
  // A small Buffer shares its memory with others, so it is copied.
  else if (value.byteLength === value.buffer.byteLength) yield value.buffer as ArrayBuffer;
}
