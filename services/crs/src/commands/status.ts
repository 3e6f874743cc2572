import type { Command } from 'commander';
import { command, connected, type Connect } from '../command.ts';
import type { Connection } from '../connection.ts';
import { show, table, type OutputOptions } from '../output.ts';

interface Health {
  service: string;
  address: string;
  up: boolean;
  /** Time of an answer over an open connection; null without an answer. */
  latency_ms: number | null;
  problem: string | null;
}

/** `crs status`: whether the services answer. */
export function statusCommand(program: Command, connect: Connect): void {
  command(program, 'status', 'show whether the services answer; exit code 1 if one does not').action((options: OutputOptions) =>
    connected(connect, async (connection) => {
      const { checkHealth } = await import('../health.ts');
      const { addresses, tls } = connection.config;
      const services = await Promise.all([
        // This check uses the operator's credential, so it finds a bad credential too.
        measure('auth', addresses.auth, () => askAuth(connection)),
        // These checks need no token, so they work while auth is away.
        ...(['projects', 'calls', 'entities'] as const).map((service) =>
          measure(service, addresses[service], () => checkHealth(service, addresses[service], tls)),
        ),
      ]);
      const ok = services.every(({ up }) => up);
      show(options, { ok, data: services }, () =>
        table(
          ['service', 'address', 'state', 'latency', 'problem'],
          services.map(({ service, address, up, latency_ms, problem }) => [
            service,
            address,
            up ? 'up' : 'down',
            latency_ms === null ? null : `${latency_ms} ms`,
            problem,
          ]),
        ),
      );
      if (!ok) process.exitCode = 1;
    }),
  );
}

async function askAuth({ auth, operator }: Connection): Promise<void> {
  await auth.listOrganizations({}, await operator());
}

async function measure(service: string, address: string, ask: () => Promise<void>): Promise<Health> {
  try {
    // The first request connects.
    await ask();
    const started = performance.now();
    await ask();
    const latency = Math.round((performance.now() - started) * 10) / 10;
    return { service, address, up: true, latency_ms: latency, problem: null };
  } catch (error) {
    return { service, address, up: false, latency_ms: null, problem: (error as Error).message };
  }
}
