import { Argument, type Command } from 'commander';
import { bashCompletion, fishCompletion, type Path } from '../completion.ts';

const SCRIPTS = {
  bash: bashCompletion,
  zsh: (paths: Path[]) => `#compdef crs\nautoload -Uz bashcompinit && bashcompinit\n${bashCompletion(paths)}`,
  fish: fishCompletion,
};

/** `crs completion`: scripts by which a shell completes commands and options. */
export function completionCommand(program: Command): void {
  program
    .command('completion')
    .description('print a script by which a shell completes commands and options')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SCRIPTS)))
    .addHelpText(
      'after',
      `
Examples:
  source <(crs completion bash)                                   # in ~/.bashrc
  source <(crs completion zsh)                                    # in ~/.zshrc, after compinit
  crs completion fish > ~/.config/fish/completions/crs.fish`,
    )
    .action((shell: keyof typeof SCRIPTS) => void process.stdout.write(SCRIPTS[shell](pathsOf(program, program.name()))));
}

/** The command and all commands below it. */
function pathsOf(command: Command, path: string): Path[] {
  const { commands, options } = command;
  const help = command.parent ? [] : ['help'];
  const words = [...commands.map((each) => each.name()), ...help];
  const flags = [...options.flatMap(({ long }) => long ?? []), '--help'];
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  return [{ path, words: [...words, ...choices], flags }, ...commands.flatMap((each) => pathsOf(each, `${path} ${each.name()}`))];
}
