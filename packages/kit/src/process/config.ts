import { z } from 'zod';

/** The environment as a program got it; read by `main` only. */
export type Environment = Record<string, string | undefined>;

/**
 * Reads the environment by a schema of variable names. An empty variable counts as absent.
 * @throws Error that names each bad variable and what it must be, never its value
 */
export function readEnvironment<S extends z.ZodObject>(schema: S, environment: Environment): z.infer<S> {
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''));
  const result = schema.safeParse(present);
  if (result.success) return result.data;
  const problems = result.error.issues.map((issue) => {
    const name = issue.path.join('.');
    return name in present ? `${name}: ${issue.message}` : `${name}: is required`;
  });
  throw new Error(`The configuration can't be used:\n  ${problems.join('\n  ')}`);
}

const HOST_PORT = /^(\[[0-9a-fA-F:.]+\]|[^\s:/]+):(\d{1,5})$/;

/** `host:port`. */
export const hostPort = z.string().regex(HOST_PORT, 'must be host:port');
export const port = z.coerce.number().int().min(0).max(65535);
export const milliseconds = z.coerce.number().int().min(1).max(600_000);
/** How many requests of an organization a gateway works on at once. */
export const tenantConcurrency = z.coerce.number().int().min(1).max(1_000).default(32);
export const secret = z.string().min(32, 'must have at least 32 characters');
export const postgresUrl = z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' });

/** Scheme, host and port of a URL, as clients write it. */
export const origin = z
  .url({ protocol: /^https?$/, error: 'must be a URL such as https://api.example.com' })
  .refine((text) => /^https?:\/\/[^/?#@]+\/?$/i.test(text), 'must be an origin, such as https://api.example.com, without a path')
  .transform((text) => new URL(text).origin);

/** Splits `host:port`. */
export function splitHostPort(address: string): { host: string; port: number } {
  const match = HOST_PORT.exec(address);
  if (!match) throw new Error('must be host:port');
  return { host: match[1]!.replace(/^\[|\]$/g, ''), port: Number(match[2]) };
}
