import type { Command } from 'commander';
import { CALL_ID } from '@crs/kit/text';
import { connected, tenantCommand, type TenantOptions } from '../command.ts';
import { Failure } from '../failure.ts';
import { show, toJson } from '../output.ts';

const MAX_CALLS = 50_000;

interface CreateOptions extends TenantOptions {
  label: string;
  project?: string;
  calls?: string;
}

/** `crs hold`: legal holds, which keep calls from being deleted. */
export function holdCommands(program: Command): void {
  const hold = program.command('hold').description('legal holds, which keep calls from being deleted');

  const create = tenantCommand(
    hold,
    'create',
    'keep calls, and what they depend on, from being deleted until the hold is released',
  )
    .requiredOption('--label <label>', 'what the hold is for, 1 to 200 characters')
    .option('--project <id>', 'keep all calls of this project, also those that come later')
    .option('--calls <file>', 'keep the calls whose ids this file has, one a line; - for standard input')
    .addHelpText(
      'after',
      `
A held call can't be deleted, erased or moved out of its project, nor can its project, the user who conducted it, a user with a
note on it, or the organization be deleted. It can be changed.

Examples:
  crs hold create --org acme --label "SEC 26-14" --project UUID
  jq -r .call_id calls.ndjson | crs hold create --org acme --label "SEC 26-14" --calls -`,
    )
    .action(async (options: CreateOptions) => {
      const { org, label, project, calls } = options;
      if ((project === undefined) === (calls === undefined)) create.error('error: give --project or --calls');
      const callIds = calls === undefined ? [] : await readIds(calls);
      return connected(async ({ calls: service, operator }) => {
        const { holdId } = await service.createHold({ label, projectId: project, callIds }, await operator(org));
        show(options, { hold_id: holdId });
      });
    });

  tenantCommand(hold, 'list', 'list the holds in force, oldest first').action((options: TenantOptions) =>
    connected(async ({ calls, operator }) => {
      const { holds } = await calls.listHolds({}, await operator(options.org));
      show(options, { data: holds.map(toJson) });
    }),
  );

  tenantCommand(hold, 'release', 'end a hold, so that its calls can be deleted again')
    .argument('<hold-id>', 'id of the hold')
    .action((holdId: string, options: TenantOptions) =>
      connected(async ({ calls, operator }) => {
        await calls.releaseHold({ holdId }, await operator(options.org));
        show(options, { hold_id: holdId, released: true }, () => `The hold ${holdId} is released.`);
      }),
    );
}

/** @throws Failure if a line isn't the id of a call, or there are too many or none */
async function readIds(path: string): Promise<string[]> {
  const [{ readLines }, { openSource }] = await Promise.all([import('../import/lines.ts'), import('../import/source.ts')]);
  const ids: string[] = [];
  for await (const { number, bytes } of readLines((await openSource(path)).chunks)) {
    const id = bytes?.toString().trim();
    if (id === '') continue;
    if (id === undefined || !CALL_ID.test(id)) throw new Failure('invalid_argument', `Line ${number} isn't the id of a call.`);
    if (ids.push(id) > MAX_CALLS) throw new Failure('invalid_argument', `A hold names at most ${MAX_CALLS} calls: make several.`);
  }
  if (ids.length === 0) throw new Failure('invalid_argument', `${path} names no call.`);
  return ids;
}
