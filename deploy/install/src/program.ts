import { readEnvironment } from '@crs/kit/process/config';
import { createLogger, type Logger } from '@crs/kit/process/log';
import { z } from 'zod';
import { Failure } from './failure.ts';

/** The prefix of the names of objects in Kubernetes. */
export const prefix = z.string().regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 'must be a valid beginning of names in Kubernetes');

/** Names of components, separated by commas. */
export const componentNames = z
  .string()
  .regex(/^[a-z0-9-]+(,[a-z0-9-]+)*$/, 'must be names of components, separated by commas')
  .transform((list) => list.split(','));

export const logLevel = z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info');

/** Runs the program of a Job. Logs a Failure as one sentence, and exits with 1 after any error. */
export async function runProgram<Settings extends z.ZodObject<{ CRS_LOG_LEVEL: typeof logLevel }>>(
  name: string,
  settings: Settings,
  run: (env: z.infer<Settings>, log: Logger) => Promise<void>,
): Promise<void> {
  const log = createLogger(name);
  try {
    const env = readSettings(settings);
    log.level = env.CRS_LOG_LEVEL;
    await run(env, log);
    log.info('done');
  } catch (error) {
    if (error instanceof Failure) log.fatal(error.message);
    else log.fatal({ err: error }, `the program ${name} failed`);
    process.exitCode = 1;
  }
}

function readSettings<Settings extends z.ZodObject>(settings: Settings): z.infer<Settings> {
  try {
    return readEnvironment(settings, process.env);
  } catch (error) {
    throw new Failure((error as Error).message.replaceAll(/\s+/g, ' '));
  }
}
