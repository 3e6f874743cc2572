import { releaseVersion } from '@crs/kit/process/version';
import { CommanderError, Command } from 'commander';
import { withOperator } from './command.ts';
import { accessReviewCommand } from './commands/access-review.ts';
import { applyCommand } from './commands/apply.ts';
import { auditCommand } from './commands/audit.ts';
import { clientCommands } from './commands/client.ts';
import { completionCommand } from './commands/completion.ts';
import { convertCommand } from './commands/convert.ts';
import { erasuresCommands } from './commands/erasures.ts';
import { exportCommand } from './commands/export.ts';
import { holdCommands } from './commands/hold.ts';
import { importCommand } from './commands/import.ts';
import { keyCommands } from './commands/key.ts';
import { memberCommands } from './commands/member.ts';
import { operatorCommands } from './commands/operator.ts';
import { orgCommands } from './commands/org.ts';
import { personCommands } from './commands/person.ts';
import { projectCommands } from './commands/project.ts';
import { retentionCommands } from './commands/retention.ts';
import { scimCommands } from './commands/scim.ts';
import { secretCommands } from './commands/secret.ts';
import { signingKeyCommands } from './commands/signing-key.ts';
import { statusCommand } from './commands/status.ts';
import { tenantsCommands } from './commands/tenants.ts';
import { tokenCommands } from './commands/token.ts';
import { userCommands } from './commands/user.ts';
import { webhookCommands } from './commands/webhook.ts';
import { describe } from './failure.ts';
import { showError } from './output.ts';

/** Runs one command. It prints its result or its error, and sets the exit code of the process unless that is 0. */
export async function runCommand(args: string[]): Promise<void> {
  try {
    await createProgram().parseAsync(args, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has printed the error.
      process.exitCode = error.exitCode === 0 ? 0 : 2;
    } else {
      showError(args.includes('--json'), describe(error));
      process.exitCode = 1;
    }
  }
}

export function createProgram(): Command {
  const program = new Command('crs')
    .description('Manages organizations of a call-research installation and loads their records.')
    .version(releaseVersion(), '--version', 'print the version of this tool')
    .exitOverride();
  withOperator(program);
  for (const register of [
    orgCommands,
    userCommands,
    projectCommands,
    memberCommands,
    keyCommands,
    tokenCommands,
    scimCommands,
    webhookCommands,
    clientCommands,
    signingKeyCommands,
    secretCommands,
    operatorCommands,
    applyCommand,
    tenantsCommands,
    accessReviewCommand,
    auditCommand,
    statusCommand,
    convertCommand,
    importCommand,
    exportCommand,
    personCommands,
    erasuresCommands,
    holdCommands,
    retentionCommands,
    completionCommand,
  ]) {
    register(program);
  }
  explainUsage(program, 'crs');
  return program;
}

function explainUsage(command: Command, path: string): void {
  command.showHelpAfterError(`Run \`${path} --help\` for usage.`);
  for (const each of command.commands) explainUsage(each, `${path} ${each.name()}`);
}
