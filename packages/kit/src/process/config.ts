import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { parseSecrets } from './secrets.ts';

export type Environment = Record<string, string | undefined>;

/**
 * Parses the environment by a schema of variable names. An empty variable counts as absent. Instead of a variable, one with the suffix `_FILE` may
 * name a file with the value, such as a mounted Secret.
 * @throws Error that names each bad variable and what it must be, never its value
 */
export function readEnvironment<S extends z.ZodObject>(schema: S, environment: Environment): z.infer<S> {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''));
  const present = { ...given, ...readFiles(Object.keys(schema.shape), given) };
  const result = schema.safeParse(present);
  if (result.success) return result.data;
  const problems = result.error.issues.map((issue) => {
    // The rest of the path is a position in a list.
    const name = String(issue.path[0]);
    return name in present ? `${name}: ${issue.message}` : `${name}: is required`;
  });
  throw new Error(`The configuration can't be used:\n  ${problems.join('\n  ')}`);
}

/** Returns the values of the variables that name a file. A variable whose own name ends with `_FILE` isn't one of them. */
function readFiles(names: readonly string[], given: Environment): Environment {
  const fromFile = names.filter((name) => !names.includes(`${name}_FILE`) && given[`${name}_FILE`] !== undefined);
  return Object.fromEntries(
    fromFile.map((name) => {
      if (given[name] !== undefined) throw new Error(`${name}_FILE: leave it out, because ${name} is set, too`);
      const path = given[`${name}_FILE`]!;
      try {
        return [name, readFileSync(path, 'utf8').trimEnd()];
      } catch (error) {
        throw new Error(`${name}_FILE: ${path} can't be read (${(error as NodeJS.ErrnoException).code})`);
      }
    }),
  );
}

/** Fields of a configuration: the variable and the schema of each. */
export type Settings = Record<string, readonly [variable: string, schema: z.ZodType]>;

/** Returns a function that reads these fields from the environment. It throws as {@link readEnvironment} does. */
export function settings<Fields extends Settings>(fields: Fields) {
  const schema = z.object(Object.fromEntries(Object.values(fields)));
  return (environment: Environment) => {
    const values = readEnvironment(schema, environment);
    const read = Object.entries(fields).map(([field, [variable]]) => [field, values[variable]]);
    return Object.fromEntries(read) as z.output<z.ZodObject<{ [F in keyof Fields]: Fields[F][1] }>>;
  };
}

const HOST_PORT = /^(\[[0-9a-fA-F:.]+\]|[^\s:/]+):(\d{1,5})$/;

/** A DNS name in lower case, without a trailing dot. */
export const dnsName = z.string().regex(/^[a-z0-9-]+(\.[a-z0-9-]+)*$/, 'must be a DNS name in lower case');
export const hostPort = z.string().regex(HOST_PORT, 'must be host:port');
export const port = z.coerce.number().int().min(0).max(65535);
export const milliseconds = z.coerce.number().int().min(1).max(600_000);
export const databaseConnections = z.coerce.number().int().min(1).max(100).default(8);
/** `id:secret[,id:secret...]`, or one secret without an id. */
export const secrets = z.string().transform((text, context) => {
  try {
    return parseSecrets(text);
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message });
    return z.NEVER;
  }
});
/** A file with a password, which is read for each new connection. */
export const passwordFile = z.string().startsWith('/', 'must be the absolute path of a file').optional();
/** Whether a program that migrates also creates database roles and sets their passwords. */
export const manageRoles = z.stringbool().default(true);
export const postgresUrl = z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' });

/** Scheme, host and port of a URL, without a trailing slash. */
export const origin = z
  .url({ protocol: /^https?$/, error: 'must be a URL such as https://api.example.com' })
  .refine((text) => /^https?:\/\/[^/?#@]+\/?$/i.test(text), 'must be an origin, such as https://api.example.com, without a path')
  .transform((text) => new URL(text).origin);

export function commaSeparated<S extends z.ZodType<unknown, string>>(part: S) {
  return z
    .string()
    .transform((text) => text.split(',').map((each) => each.trim()))
    .pipe(z.array(part));
}

/** Files of further trusted CAs: see `TrustedCertificates`. */
export const trustedCertificateFiles = commaSeparated(z.string().min(1, 'must be files with commas between them')).default([]);

/** Splits `host:port`, and removes the brackets of an IPv6 host. */
export function splitHostPort(address: string): { host: string; port: number } {
  const match = HOST_PORT.exec(address);
  if (!match) throw new Error('must be host:port');
  return { host: match[1]!.replace(/^\[|\]$/g, ''), port: Number(match[2]) };
}
