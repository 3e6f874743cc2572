import { parseArgs, type ParseArgsConfig } from 'node:util';

/** Reads the command line of a script. Prints the usage and ends the process where it is asked for, or where an argument is wrong. */
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
