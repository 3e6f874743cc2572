import type { Command } from 'commander';
import { fold } from '@crs/kit/text';
import type { FoundCall, Person } from '@crs/proto/crs/people/v1/people';
import { email, filled } from '../arguments.ts';
import { connected, tenantCommand, type TenantOptions } from '../command.ts';
import type { Connection } from '../connection.ts';
import { layOut, show } from '../output.ts';
import { confirm, isTerminal, type ConsentOptions } from '../prompt.ts';

interface PersonOptions extends TenantOptions {
  email?: string;
  name?: string;
  employer?: string;
}

interface EraseOptions extends PersonOptions, ConsentOptions {
  plan?: true;
  calls?: true;
}

/** `crs person`: finds and erases a person who isn't a user. */
export function personCommands(program: Command): void {
  const person = program.command('person').description('people in calls, such as experts');
  const forPerson = (verb: string, summary: string) =>
    tenantCommand(person, verb, summary)
      .option('--email <email>', 'e-mail of a participant', email)
      .option('--name <name>', 'name of an expert, participant or speaker', filled)
      .option('--employer <employer>', 'with --name: another employer makes an expert of this name somebody else', filled);

  const find = forPerson('find', 'find the calls of a person: field names, no texts').addHelpText(
    'after',
    `
"fields" is what an erasure empties. "mentions" is running text that contains the name or e-mail, which no erasure rewrites.

Examples:
  crs person find --org acme --name "Eva Muster" --employer Initech
  crs person find --org acme --email eva@initech.example --json`,
  );
  find.action((options: PersonOptions) => {
    const wanted = requirePerson(find, options);
    return connected(async (connection) => {
      const isUser = await findUser(connection, options.org, wanted);
      const calls = await search(connection, options.org, wanted);
      show(options, { data: calls.map(toJson), is_user: isUser }, () => layOut({ data: calls.map(toJson) }));
      noteUser(options, isUser);
    });
  });

  const erase = forPerson('erase', "empty a person's fields in all calls, or delete the calls; this can't be undone")
    .option('--plan', 'change nothing, and show what would change')
    .option('--calls', 'delete each call that has or mentions the person')
    .option('--yes', 'erase without a prompt; required without a terminal')
    .addHelpText(
      'after',
      `
Run it again to continue after an interruption. Calls on hold are counted and stay as they are: erase again after the release. An import
that still has the person brings them back, so change its source first.

Examples:
  crs person erase --org acme --name "Eva Muster" --employer Initech --plan
  crs person erase --org acme --email eva@initech.example --yes`,
    );
  erase.action((options: EraseOptions) => {
    const wanted = requirePerson(erase, options);
    if (!options.plan && !options.yes && (options.json || !isTerminal()))
      erase.error('error: nobody can answer a prompt here; add --plan to see the changes, or --yes to make them');
    return connected((connection) => erasePerson(connection, options, wanted));
  });
}

function requirePerson(command: Command, { email: address = '', name = '', employer = '' }: PersonOptions): Person {
  if ((address === '') === (name === '')) command.error('error: give either --email or --name');
  if (employer !== '' && name === '') command.error('error: --employer needs --name');
  return { email: address, name, employer };
}

async function erasePerson(connection: Connection, options: EraseOptions, person: Person): Promise<void> {
  const { org, calls: deleteCalls = false } = options;
  const isUser = await findUser(connection, org, person);
  if (options.plan || !options.yes) {
    const found = await search(connection, org, person);
    const due = found.filter(({ fields, mentions }) => fields.length > 0 || (deleteCalls && mentions.length > 0));
    const held = due.filter((each) => each.held).length;
    const free = due.length - held;
    const counts = deleteCalls ? { changed: 0, deleted: free, held } : { changed: free, deleted: 0, held };
    if (options.plan) {
      const data = due.map(toJson);
      show(options, { erasure_id: null, ...counts, data }, () => `${layOut({ data })}\n\n${layOut(counts)}`);
      return noteUser(options, isUser);
    }
    await confirm(`This ${deleteCalls ? 'deletes' : 'changes'} ${free} calls`, options);
  }
  const [{ erasePerson: run }, { showProgress }] = await Promise.all([
    import('../people/run.ts'),
    import('../people/progress.ts'),
  ]);
  const view = await showProgress();
  try {
    const { erasureId, changed, deleted, held } = await run(connection, org, { person, deleteCalls }, view.advance);
    view.stop();
    show(options, { erasure_id: erasureId, changed, deleted, held });
  } finally {
    view.stop();
  }
  noteUser(options, isUser);
}

async function search(connection: Connection, organization: string, person: Person): Promise<FoundCall[]> {
  const [{ findPerson }, { showProgress }] = await Promise.all([import('../people/run.ts'), import('../people/progress.ts')]);
  const view = await showProgress();
  try {
    return await Array.fromAsync(findPerson(connection, organization, person, view.advance));
  } finally {
    view.stop();
  }
}

/** Whether a user of the organization has the e-mail or name. */
async function findUser({ auth, operator }: Connection, organization: string, person: Person): Promise<boolean> {
  const { users } = await auth.listUsers({}, await operator(organization));
  const wanted = fold(person.email || person.name);
  return users.some((user) => fold(person.email ? user.email : (user.name ?? '')) === wanted);
}

function noteUser(options: PersonOptions, isUser: boolean): void {
  if (isUser && !options.json) process.stderr.write('note: a user has this e-mail or name. `crs user delete` erases users.\n');
}

function toJson({ callId, fields, mentions }: FoundCall) {
  return { call_id: callId, fields, mentions };
}
