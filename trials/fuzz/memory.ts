/** Measures the memory of the processes by their inspectors, after a garbage collection. */

/** MiB by process. */
export type Memory = Map<string, { rss: number; heap: number; external: number }>;

const MIB = 1024 * 1024;

export async function memoryOf(inspectors: Map<string, number>): Promise<Memory> {
  const measured = await Promise.all([...inspectors].map(async ([name, port]) => [name, await measure(port)] as const));
  return new Map(measured);
}

async function measure(port: number): Promise<{ rss: number; heap: number; external: number }> {
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as [{ webSocketDebuggerUrl: string }];
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true });
    socket.addEventListener('error', () => reject(new Error('the inspector does not answer')), { once: true });
  });
  let sent = 0;
  const ask = (method: string, params: object = {}) =>
    new Promise<{ result?: { value?: string } }>((resolve) => {
      const id = ++sent;
      const listener = ({ data }: MessageEvent) => {
        const message = JSON.parse(String(data)) as { id?: number; result: { result?: { value?: string } } };
        if (message.id !== id) return;
        socket.removeEventListener('message', listener);
        resolve(message.result);
      };
      socket.addEventListener('message', listener);
      socket.send(JSON.stringify({ id, method, params }));
    });
  // A second collection frees the objects that finalizers released.
  for (let n = 0; n < 2; n++) await ask('HeapProfiler.collectGarbage');
  const { result } = await ask('Runtime.evaluate', { expression: 'JSON.stringify(process.memoryUsage())', returnByValue: true });
  socket.close();
  const usage = JSON.parse(result!.value!) as { rss: number; heapUsed: number; external: number; arrayBuffers: number };
  return { rss: usage.rss / MIB, heap: usage.heapUsed / MIB, external: usage.external / MIB };
}

/** The processes that grew from one measurement to a later one by more than noise. */
export function growth(early: Memory, late: Memory): string[] {
  return [...late].flatMap(([name, { heap, external }]) => {
    const before = early.get(name)!;
    const [was, is] = [before.heap + before.external, heap + external];
    return is > was * 1.1 + 4 ? [`${name}: ${was.toFixed(1)} MiB of heap and buffers became ${is.toFixed(1)} MiB`] : [];
  });
}
