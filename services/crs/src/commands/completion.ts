import { Argument, type Command } from 'commander';

const SCRIPTS = {
  bash: bashCompletion,
  zsh: (paths: Path[]) => `#compdef crs\nautoload -Uz bashcompinit && bashcompinit\n${bashCompletion(paths)}`,
  fish: fishCompletion,
};

/** `crs completion`: prints completion scripts for shells. */
export function completionCommand(program: Command): void {
  program
    .command('completion')
    .description('print a completion script for a shell')
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

/** The words that may follow a command. They are names of commands and options, so they have no characters that are special to a shell. */
interface Path {
  /** The full name of the command, such as `crs key create`. */
  path: string;
  /** Commands and arguments. */
  words: string[];
  flags: string[];
}

/** Returns a script for bash, which zsh can run too. It completes by the command that the words of the line name. */
function bashCompletion(paths: Path[]): string {
  const known = paths.map(({ path }) => `'${path}'`).join('|');
  const cases = paths.map(({ path, words, flags }) => `    '${path}') words='${[...words, ...flags].join(' ')}' ;;`);
  return `_crs() {
  local path=crs word words=
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
      ${known}) path="$path $word" ;;
    esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _crs crs
`;
}

/** Returns a script for fish. */
function fishCompletion(paths: Path[]): string {
  const known = paths.map(({ path }) => `'${path}'`).join(' ');
  const lines = paths.flatMap(({ path, words, flags }) => {
    const where = `complete -c crs -n 'test (__crs_path) = "${path}"'`;
    return [
      ...(words.length > 0 ? [`${where} -f -a '${words.join(' ')}'`] : []),
      ...flags.map((flag) => `${where} -l ${flag.slice(2)}`),
    ];
  });
  return `function __crs_path
  set -l path crs
  for word in (commandline -opc)[2..]
    contains -- "$path $word" ${known}
    and set path "$path $word"
  end
  echo $path
end
${lines.join('\n')}
`;
}
