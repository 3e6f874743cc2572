import type { Command } from 'commander';
import { command, connected } from '../command.ts';
import { show, type OutputOptions } from '../output.ts';

/** `crs status`: whether the services respond. */
export function statusCommand(program: Command): void {
  command(program, 'status', 'show whether the services, PostgreSQL and Redis respond; exit code 1 if one does not').action(
    async (options: OutputOptions) => {
      const { checkAll } = await import('../status.ts');
      await connected(async (connection) => {
        const data = await checkAll(connection);
        const ok = data.every(({ up }) => up !== false);
        show(options, { ok, data });
        if (!ok) process.exitCode = 1;
      });
    },
  );
}
