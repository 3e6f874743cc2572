import { parseArgs, type ParseArgsConfig } from 'node:util';

/** Parses a script's command line. Prints the usage and exits if `--help` is given or an argument is wrong. */
export function readArguments<T extends ParseArgsConfig>(usage: string, config: T): ReturnType<typeof parseArgs<T>> {
  if (process.argv.includes('--help')) {
    process.stdout.write(usage);
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    return refuseArguments(usage, (error as Error).message);
  }
}

export function refuseArguments(usage: string, problem: string): never {
  process.stderr.write(`${problem}\n\n${usage}`);
  process.exit(2);
}
