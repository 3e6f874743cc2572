import { readFile } from 'node:fs/promises';

export interface Secret {
  id: string;
  secret: string;
}

/** The secrets of an installation. The first one encrypts and signs; each of them decrypts and verifies. */
export type Secrets = readonly [Secret, ...Secret[]];

const DEFAULT_ID = '0';

const ID = /^[A-Za-z0-9._-]{1,32}$/;
/** Printable ASCII without commas. */
const PRINTABLE = /^[!-+\--~]*$/;
const MIN_LENGTH = 32;

/**
 * Parses `id:secret[,id:secret...]`. A text without `:` is one secret with the id `0`.
 * @throws Error that never quotes a secret
 */
export function parseSecrets(text: string): Secrets {
  if (!text.includes(':')) {
    requireLength(text, 'must have');
    return [{ id: DEFAULT_ID, secret: text }];
  }
  const [first, ...others] = text.split(',').map(parseOne);
  const ids = [first!, ...others].map(({ id }) => id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) throw new Error(`names the id "${twice}" twice: each secret needs an id of its own`);
  return [first!, ...others];
}

function parseOne(part: string, index: number): Secret {
  const which = `part ${index + 1} of the list`;
  const colon = part.indexOf(':');
  const id = part.slice(0, Math.max(colon, 0));
  if (!ID.test(id))
    throw new Error(
      `must be id:secret[,id:secret...]: ${which} must begin with an id of 1 to 32 of A-Z, a-z, 0-9, ".", "_" and "-"`,
    );
  const secret = part.slice(colon + 1);
  if (!PRINTABLE.test(secret)) throw new Error(`${which}: the secret must be printable ASCII without spaces and commas`);
  requireLength(secret, `${which}: the secret must have`);
  return { id, secret };
}

function requireLength(secret: string, must: string): void {
  if (secret.length < MIN_LENGTH) throw new Error(`${must} at least ${MIN_LENGTH} characters`);
}

/** Returns the text of a file that another program renews, without its final newline. */
export async function readSecret(path: string): Promise<string> {
  return (await readFile(path, 'utf8')).trimEnd();
}
