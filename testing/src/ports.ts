import { createServer } from 'node:net';

// These ports are below the ones that a system gives to outgoing connections. Otherwise a connection could take the port of a process that is being restarted.
const FIRST_PORT = 10_240;
const PAIRS = 11_264;
/** Vitest runs two workers side by side: one gets even ports, the other odd ones. */
const PARITY = Number(process.env['VITEST_POOL_ID'] ?? 0) % 2;

/** A process that gets a port listens later, so no port is given twice. */
const given = new Set<number>();

/** Different ports of 127.0.0.1 on which nothing listens at this moment. */
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
