/** Free ports for tests that start servers. */
import { createServer } from 'node:net';

// Below the range of ephemeral ports: otherwise an outgoing connection could take the port of a process that is being restarted.
const FIRST_PORT = 10_240;
const PAIRS = 11_264;
/** Vitest runs two workers in parallel: one uses even ports, the other odd ones. */
const PARITY = Number(process.env['VITEST_POOL_ID'] ?? 0) % 2;

/** Never returned twice, because a process may start to listen on its port only later. */
const given = new Set<number>();

/** Returns distinct ports that are free on 127.0.0.1 at the moment. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = FIRST_PORT + 2 * Math.floor(Math.random() * PAIRS) + PARITY;
    if (given.has(port)) continue;
    given.add(port);
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (free) ports.push(port);
  }
  return ports;
}
