import { Option, type Command } from 'commander';
import { createOperatorCredential } from '@crs/kit/operator-credential';
import { OPERATOR_ROLES } from '@crs/kit/rpc/operators';
import { duration, organizationId } from '../arguments.ts';
import { command, connected } from '../command.ts';
import { timestamp, layOut, layOutWithSecret, show, toJson, type OutputOptions } from '../output.ts';
import { confirm, withConsent, type ConsentOptions } from '../prompt.ts';

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

const OFFLINE = `
With --json, the output is operator.json, which the install Job reads from the Secret FULLNAME-operator:
  (umask 077; crs operator new-credential first --json > operator.json)`;

/** `crs operator`: credentials for this tool. */
export function operatorCommands(program: Command): void {
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
      connected(async (connection) => {
        const { operator: created, credential } = await connection.auth.createOperator(
          { name, role, organizationIds: org, expiresInSeconds: expiresIn },
          await connection.operator(),
        );
        const { revoked_at: _, ...value } = toJson(created!);
        const shown = { ...value, credential };
        show(options, shown, () => layOutWithSecret(shown, 'credential'));
      }),
    );

  command(operator, 'new-credential', 'print the credential of a first operator, without an installation')
    .argument('<name>', 'name of the operator, 1 to 100 characters')
    .addHelpText('after', OFFLINE)
    .action((name: string, options: OutputOptions) => {
      const value = { name, credential: createOperatorCredential() };
      show(options, value, () => layOut(value));
    });

  command(operator, 'list', 'list operators, revoked ones included').action((options: OutputOptions) =>
    connected(async (connection) => {
      const { operators } = await connection.auth.listOperators({}, await connection.operator());
      const data = operators.map(toJson);
      const forPeople = () =>
        operators.map((each) => ({ ...toJson(each), organization_ids: each.organizationIds.join(',') || 'all' }));
      show(options, { data }, () => layOut({ data: forPeople() }));
    }),
  );

  withConsent(command(operator, 'revoke', 'revoke an operator credential by name; this cannot be undone'))
    .argument('<name>', 'name of the operator')
    .action(async (name: string, options: OutputOptions & ConsentOptions) => {
      await confirm(`This revokes the operator ${name}`, options);
      return connected(async (connection) => {
        const { operator: revoked } = await connection.auth.revokeOperator({ name }, await connection.operator());
        show(options, toJson(revoked!), () => `Operator ${name} was revoked at ${timestamp(revoked!.revokedAt)}.`);
      });
    });
}
