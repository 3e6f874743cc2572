import { readFileSync } from 'node:fs';
import { CommanderError, type Command } from 'commander';
import type { ApplyTenantResponse } from '@crs/proto/crs/auth/v1/admin';
import { command, connected } from '../command.ts';
import { printable, show, type OutputOptions } from '../output.ts';
import { confirm, isTerminal, type ConsentOptions } from '../prompt.ts';

interface ApplyOptions extends OutputOptions, ConsentOptions {
  file: string;
  plan?: true;
  prune?: true;
}

/** The exit code of a plan that has changes. */
const DIFFERS = 3;

/** `crs apply`: organizations as a file. */
export function applyCommand(program: Command): void {
  const apply = command(program, 'apply', 'bring organizations to the state that a file describes')
    .requiredOption('-f, --file <file>', 'YAML or JSON file, or - for standard input')
    .option('--plan', 'change nothing, and show what would change; exit code 0 without changes, 3 with some')
    .option('--prune', 'also revoke, unmap and disable what the lists in the file lack; never deletes an organization')
    .option('--yes', 'apply without a prompt; required without a terminal')
    .option('--schema', 'print the JSON Schema of the file, and do nothing else')
    .on('option:schema', () => {
      // In a listener, because it must run before the check that a file is given.
      process.stdout.write(readFileSync(new URL('../apply/schema.json', import.meta.url)));
      throw new CommanderError(0, 'crs.schema', '');
    })
    .addHelpText(
      'after',
      `
What the file doesn't name stays as it is. Each organization is applied in one transaction, after all were planned. Applying the same
file again changes nothing.

Examples:
  crs apply -f tenants.yaml --plan
  crs apply -f tenants.yaml --yes
  crs tenants export | crs apply -f - --plan
  crs apply --schema > tenants.schema.json`,
    )
    .action((options: ApplyOptions) => {
      const isAnswered = options.yes === true || options.plan === true;
      if (!isAnswered && (options.json || options.file === '-' || !isTerminal()))
        apply.error('error: nobody can answer a prompt here; add --plan to see the changes, or --yes to apply them');
      return applyFile(options);
    });
}

async function applyFile(options: ApplyOptions): Promise<void> {
  const [{ readTenants }, { planAll, applyAll }, { countsOf, planText }] = await Promise.all([
    import('../apply/file.ts'),
    import('../apply/run.ts'),
    import('../apply/plan-text.ts'),
  ]);
  const entries = await readTenants(options.file);
  await connected(async (connection) => {
    const mode = { prune: options.prune === true };
    const planned = await planAll(connection, entries, mode);
    const plans = planned.map(({ entry, changes }) => ({ id: entry.id, changes }));
    const counts = countsOf(plans);
    const differs = plans.some(({ changes }) => changes.length > 0);
    const text = () => planText(plans);
    if (!options.json) {
      for (const { entry, notes } of planned)
        for (const { field, message } of notes)
          process.stderr.write(`note: ${printable(`${entry.locate(field)}: ${message}`)}.\n`);
      process.stdout.write(`${text()}\n`);
    }
    if (differs && !options.plan) {
      if (!options.yes) await confirm('This makes the changes above', options);
      await applyAll(connection, planned, mode);
      if (!options.json) process.stdout.write('Applied.\n');
    }
    if (options.json) {
      const organizations = planned.map(({ entry, changes, notes }) => ({
        id: entry.id,
        changes: changes.map(toJsonChange),
        notes,
      }));
      show(options, { ...counts, applied: differs && !options.plan, organizations });
    }
    if (differs && options.plan) process.exitCode = DIFFERS;
  });
}

/** Values are JSON, in the service's message as text. */
function toJsonChange({ settings, ...change }: ApplyTenantResponse['changes'][number]) {
  const parsed = settings.map(({ setting, from, to }) => ({
    setting,
    from: JSON.parse(from) as unknown,
    to: JSON.parse(to) as unknown,
  }));
  return { ...change, settings: parsed };
}
