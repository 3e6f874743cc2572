import type { Command } from 'commander';
import { randomBase62 } from '@crs/kit/api-key';
import { connected, tenantCommand, type TenantOptions } from '../command.ts';
import { Failure } from '../failure.ts';
import { layOut, layOutWithSecret, show, toJson } from '../output.ts';
import { confirm, readSecret, withConsent, type ConsentOptions } from '../prompt.ts';

const PASSWORD = 'one line, 12 to 256 characters that are hard to guess';
/** 119 random bits. */
const GENERATED_PASSWORD_LENGTH = 20;

interface UserOptions extends TenantOptions {
  user: string;
}

/** `crs user`: people of an organization. */
export function userCommands(program: Command): void {
  const user = program.command('user').description('people of an organization');
  const forUser = (verb: string, summary: string) =>
    tenantCommand(user, verb, summary).requiredOption('--user <email>', 'e-mail of the user');

  tenantCommand(user, 'create', 'create a user')
    .requiredOption('--email <email>', 'e-mail, unique within the organization')
    .requiredOption('--name <name>', 'name to show, 1 to 200 characters')
    .option(
      '--password-stdin',
      `read a password (${PASSWORD}) from standard input; without this option, the user has no password`,
    )
    .action(async (options: TenantOptions & { email: string; name: string; passwordStdin?: true }) => {
      const password = options.passwordStdin ? await readSecret('password', '--password-stdin') : '';
      return connected(async ({ auth, operator }) => {
        const { email, name } = options;
        const { user: created } = await auth.createUser({ email, name, password }, await operator(options.org));
        show(options, toJson(created!));
      });
    });

  tenantCommand(user, 'list', 'list the users of an organization').action((options: TenantOptions) =>
    connected(async ({ auth, operator }) => {
      const { users } = await auth.listUsers({}, await operator(options.org));
      show(options, { data: users.map(toJson) });
    }),
  );

  forUser('update', "change a user's e-mail or name; everything else of the user stays")
    .option('--email <email>', 'new e-mail, unique within the organization')
    .option('--name <name>', 'new name, 1 to 200 characters')
    .addHelpText('after', '\nAn import that still has the old e-mail creates another user.')
    .action((options: UserOptions & { email?: string; name?: string }, command: Command) => {
      const { email: newEmail, name } = options;
      if (newEmail === undefined && name === undefined) command.error('error: give --email or --name', { exitCode: 2 });
      return connected(async ({ auth, operator }) => {
        const request = { email: options.user, newEmail, name };
        const { user: changed } = await auth.updateUser(request, await operator(options.org));
        show(options, toJson(changed!));
      });
    });

  for (const [verb, disabled, summary] of [
    ['enable', false, 'let a disabled user sign in again'],
    ['disable', true, "lock a user out at once, and end all sign-ins and connections for good; the user's records stay"],
  ] as const) {
    forUser(verb, summary).action((options: UserOptions) =>
      connected(async ({ auth, operator }) => {
        const { user: changed } = await auth.setUserDisabled({ email: options.user, disabled }, await operator(options.org));
        show(options, toJson(changed!));
      }),
    );
  }

  forUser('set-password', "set a user's password, and end the user's browser sessions")
    .option(
      '--password-stdin',
      `read the password (${PASSWORD}) from standard input; without this option, one is made and shown once`,
    )
    .option('--end-connections', "end the connections of the user's assistants and the user's tokens, too")
    .action(async (options: UserOptions & { passwordStdin?: true; endConnections?: true }) => {
      const generated = options.passwordStdin ? undefined : randomBase62(GENERATED_PASSWORD_LENGTH);
      const password = generated ?? (await readSecret('password', '--password-stdin'));
      return connected(async ({ auth, operator }) => {
        const request = { email: options.user, password, endConnections: options.endConnections ?? false };
        const { user: changed, endedConnections, oidcIssuer } = await auth.setUserPassword(request, await operator(options.org));
        const value = {
          ...toJson(changed!),
          password: generated,
          ended_connections: endedConnections,
          oidc_issuer: oidcIssuer || null,
        };
        const text = generated === undefined ? layOut(value) : layOutWithSecret(value, 'password');
        const unused = `\n\nThe password isn't used: users of ${options.org} sign in through ${oidcIssuer}.`;
        show(options, value, () => text + (oidcIssuer && unused));
      });
    });

  forUser('end-sessions', "end a user's browser sessions, connections and tokens; the user may sign in again").action(
    (options: UserOptions) =>
      connected(async ({ auth, operator }) => {
        const { user: found, endedConnections } = await auth.endUserSessions(
          { email: options.user },
          await operator(options.org),
        );
        show(options, { ...toJson(found!), ended_connections: endedConnections });
      }),
  );

  forUser('unlink', "forget the user's accounts at OpenID providers; the next sign-in links by e-mail again").action(
    (options: UserOptions) =>
      connected(async ({ auth, operator }) => {
        const { user: changed } = await auth.unlinkUser({ email: options.user }, await operator(options.org));
        show(options, toJson(changed!));
      }),
  );

  withConsent(forUser('delete', "delete a user with the user's roles, notes, connections and tokens; this cannot be undone"))
    .addHelpText(
      'after',
      '\nCalls and projects of the user stay, without a conductor or creator. Run it again to finish a deletion that was interrupted.',
    )
    .action(async (options: UserOptions & ConsentOptions) => {
      const { org, user: email } = options;
      await confirm(`This deletes ${email} of ${org} with all roles, notes, connections and tokens`, options);
      return connected(async (connection) => {
        const { erase } = await import('../erasure.ts');
        if (!(await erase(connection, org, { $case: 'email', value: email }))) {
          throw new Failure('not_found', `Nobody in ${org} has this e-mail. \`crs user list --org ${org}\` shows all users.`);
        }
        show(options, { email, deleted: true }, () => `${email} is deleted.`);
      });
    });
}
