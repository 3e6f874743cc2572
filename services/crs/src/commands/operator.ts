import { Option, type Command } from 'commander';
import { OPERATOR_ROLES } from '@crs/kit/rpc/operators';
import type { Operator } from '@crs/proto/crs/auth/v1/admin';
import { duration, organizationId } from '../arguments.ts';
import { command, connected, type Connect } from '../command.ts';
import { detailsOnce, instant, show, table, type OutputOptions } from '../output.ts';
import { confirm, withConsent, type ConsentOptions } from '../question.ts';

interface CreateOptions extends OutputOptions {
  role: string;
  org: string[];
  expiresIn?: number;
}

const ROLES = `
Roles:
  admin     all
  manager   organizations, users, members, keys, tokens and clients
  importer  crs import only
  viewer    lists and status
  auditor   lists and the audit trail

Nobody grants more than they have: role, organizations, end.

With --json, the output is a file for CRS_OPERATOR_FILE:
  (umask 077; crs operator create ci --role importer --org acme --json > operator.json)`;

/** `crs operator`: credentials for this tool. */
export function operatorCommands(program: Command, connect: Connect): void {
  const operator = program.command('operator').description('credentials for this tool');

  command(operator, 'create', 'create an operator credential, shown this once')
    .argument('<name>', 'name of its user, 1 to 100 characters; the audit trail shows it')
    .addOption(new Option('--role <role>', 'what it may do').choices([...OPERATOR_ROLES]).default('admin'))
    .option(
      '--org <org>',
      'bind it to this organization; repeat for more; by default it is for all',
      (id: string, earlier: string[]) => [...earlier, organizationId(id)],
      [] as string[],
    )
    .option('--expires-in <time>', 'its life, like 90d; by default it never expires', duration)
    .addHelpText('after', ROLES)
    .action((name: string, { role, org, expiresIn = 0, ...options }: CreateOptions) =>
      connected(connect, async (connection) => {
        const { operator: created, credential } = await connection.auth.createOperator(
          { name, role, organizationIds: org, expiresInSeconds: expiresIn },
          await connection.operator(),
        );
        const { revoked_at: _, ...value } = toJson(created!);
        show(options, { ...value, credential }, () =>
          detailsOnce('credential', [
            ['name', created!.name],
            ['role', created!.role],
            ['organizations', organizationsOf(created!)],
            ['expires', instant(created!.expiresAt)],
            ['credential', credential],
          ]),
        );
      }),
    );

  command(operator, 'list', 'list operators, revoked ones included').action((options: OutputOptions) =>
    connected(connect, async (connection) => {
      const { operators } = await connection.auth.listOperators({}, await connection.operator());
      show(options, { data: operators.map(toJson) }, () =>
        table(
          ['name', 'role', 'organizations', 'created', 'expires', 'revoked'],
          operators.map((each) => [
            each.name,
            each.role,
            organizationsOf(each),
            instant(each.createdAt),
            instant(each.expiresAt),
            instant(each.revokedAt),
          ]),
        ),
      );
    }),
  );

  withConsent(command(operator, 'revoke', 'revoke an operator credential by name; this cannot be undone'))
    .argument('<name>', 'name of the operator')
    .action(async (name: string, options: OutputOptions & ConsentOptions) => {
      await confirm(`This revokes the operator ${name}`, options);
      return connected(connect, async (connection) => {
        const { operator: revoked } = await connection.auth.revokeOperator({ name }, await connection.operator());
        show(options, toJson(revoked!), () => `Operator ${name} was revoked at ${instant(revoked!.revokedAt)}.`);
      });
    });
}

function organizationsOf({ organizationIds }: Operator): string {
  return organizationIds.join(',') || 'all';
}

function toJson(operator: Operator) {
  return {
    name: operator.name,
    role: operator.role,
    organization_ids: operator.organizationIds,
    created_at: instant(operator.createdAt),
    expires_at: instant(operator.expiresAt),
    revoked_at: instant(operator.revokedAt),
  };
}
