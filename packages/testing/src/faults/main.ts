// node packages/testing/src/faults/main.ts rolling [--passes N] [--clients N]
import { parseArgs } from 'node:util';
import { rolling } from './rolling.ts';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { passes: { type: 'string', default: '2' }, clients: { type: 'string', default: '8' } },
});
const [what] = positionals;
if (what === 'rolling') {
  const ok = await rolling({ passes: Number(values.passes), clients: Number(values.clients) });
  process.exitCode = ok ? 0 : 1;
} else {
  process.stderr.write('rolling\n');
  process.exitCode = 2;
}
