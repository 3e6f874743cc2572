import { showError } from './output.ts';
import { runCommand } from './program.ts';

const args = process.argv.slice(2);
// A reader may stop early, as in `crs org list | head -1`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  showError(args.includes('--json'), { code: 'file', message: `Standard output can't be written (${error.code}).` });
  process.exit(1);
});
await runCommand(args);
// Otherwise a pipe on standard input that stays open would keep the process running.
process.stdin.destroy();
