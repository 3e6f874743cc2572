import type { Command } from 'commander';
import { command, connected, type Connect } from '../command.ts';
import { show, table, type OutputOptions } from '../output.ts';

/** `crs status`: whether the services answer. */
export function statusCommand(program: Command, connect: Connect): void {
  command(program, 'status', 'show whether the services, PostgreSQL and Redis answer; exit code 1 if one does not').action(
    async (options: OutputOptions) => {
      const { askAll } = await import('../status.ts');
      await connected(connect, async (connection) => {
        const data = await askAll(connection);
        const ok = data.every(({ up }) => up !== false);
        show(options, { ok, data }, () =>
          table(
            ['service', 'address', 'state', 'latency', 'problem'],
            data.map(({ service, address, up, latency_ms, problem }) => [
              service,
              address,
              up === null ? 'not known' : up ? 'up' : 'down',
              latency_ms === null ? null : `${latency_ms} ms`,
              problem,
            ]),
          ),
        );
        if (!ok) process.exitCode = 1;
      });
    },
  );
}
