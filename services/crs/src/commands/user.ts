import type { Command } from 'commander';
import type { User } from '@crs/proto/crs/auth/v1/admin';
import { connected, tenantCommand, type Connect, type TenantOptions } from '../command.ts';
import { details, instant, show, table } from '../output.ts';
import { readSecret } from '../stdin.ts';

/** `crs user`: people of an organization. */
export function userCommands(program: Command, connect: Connect): void {
  const user = program.command('user').description('people of an organization');

  tenantCommand(user, 'create', 'create a user')
    .requiredOption('--email <email>', 'e-mail, unique within the organization')
    .requiredOption('--name <name>', 'name to show, 1 to 200 characters')
    .option(
      '--password-stdin',
      'read a password (one line, 8 to 200 characters) from standard input; without this option, the user has no password',
    )
    .action(async (options: TenantOptions & { email: string; name: string; passwordStdin?: true }) => {
      const password = options.passwordStdin ? await readSecret('password', '--password-stdin') : '';
      return connected(connect, async ({ auth, operator }) => {
        const { email, name } = options;
        const { user: created } = await auth.createUser({ email, name, password }, await operator(options.org));
        showUser(options, created!);
      });
    });

  tenantCommand(user, 'list', 'list the users of an organization').action((options: TenantOptions) =>
    connected(connect, async ({ auth, operator }) => {
      const { users } = await auth.listUsers({}, await operator(options.org));
      show(options, { data: users.map(toJson) }, () =>
        table(
          ['e-mail', 'name', 'disabled', 'password', 'created'],
          users.map((each) => [each.email, each.name, each.disabled, each.hasPassword, instant(each.createdAt)]),
        ),
      );
    }),
  );

  for (const [verb, disabled, summary] of [
    ['enable', false, 'let a disabled user sign in again'],
    ['disable', true, "lock a user out at once; the user's records stay"],
  ] as const) {
    tenantCommand(user, verb, summary)
      .requiredOption('--user <email>', 'e-mail of the user')
      .action((options: TenantOptions & { user: string }) =>
        connected(connect, async ({ auth, operator }) => {
          const { user: changed } = await auth.setUserDisabled({ email: options.user, disabled }, await operator(options.org));
          showUser(options, changed!);
        }),
      );
  }

  tenantCommand(user, 'unlink', "forget the user's accounts at OpenID providers; the next sign-in links by e-mail again")
    .requiredOption('--user <email>', 'e-mail of the user')
    .action((options: TenantOptions & { user: string }) =>
      connected(connect, async ({ auth, operator }) => {
        const { user: changed } = await auth.unlinkUser({ email: options.user }, await operator(options.org));
        showUser(options, changed!);
      }),
    );
}

function showUser(options: TenantOptions, user: User): void {
  show(options, toJson(user), () =>
    details([
      ['user', user.userId],
      ['e-mail', user.email],
      ['name', user.name],
      ['disabled', user.disabled],
      ['password', user.hasPassword],
      ['created', instant(user.createdAt)],
    ]),
  );
}

function toJson(user: User) {
  return {
    user_id: user.userId,
    email: user.email,
    name: user.name,
    disabled: user.disabled,
    has_password: user.hasPassword,
    created_at: instant(user.createdAt),
  };
}
