import type { Command } from 'commander';
import type { Operator } from '@crs/proto/crs/auth/v1/admin';
import { command, connected, type Connect } from '../command.ts';
import { detailsOnce, instant, show, table, type OutputOptions } from '../output.ts';

/** `crs operator`: credentials for this tool. */
export function operatorCommands(program: Command, connect: Connect): void {
  const operator = program.command('operator').description('credentials for this tool');

  command(operator, 'create', 'create an operator credential, shown this once')
    .argument('<name>', 'name of its user, 1 to 100 characters; the audit trail shows it')
    .addHelpText(
      'after',
      '\nWith --json, the output is a file for CRS_OPERATOR_FILE:\n  (umask 077; crs operator create ci --json > operator.json)',
    )
    .action((name: string, options: OutputOptions) =>
      connected(connect, async (connection) => {
        const { operator: created, credential } = await connection.auth.createOperator({ name }, await connection.operator());
        const value = { name: created!.name, credential, created_at: instant(created!.createdAt) };
        show(options, value, () =>
          detailsOnce('credential', [
            ['name', created!.name],
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
          ['name', 'created', 'revoked'],
          operators.map((each) => [each.name, instant(each.createdAt), instant(each.revokedAt)]),
        ),
      );
    }),
  );

  command(operator, 'revoke', 'revoke an operator credential by name')
    .argument('<name>', 'name of the operator')
    .action((name: string, options: OutputOptions) =>
      connected(connect, async (connection) => {
        const { operator: revoked } = await connection.auth.revokeOperator({ name }, await connection.operator());
        show(options, toJson(revoked!), () => `Operator ${name} was revoked at ${instant(revoked!.revokedAt)}.`);
      }),
    );
}

function toJson(operator: Operator) {
  return { name: operator.name, created_at: instant(operator.createdAt), revoked_at: instant(operator.revokedAt) };
}
