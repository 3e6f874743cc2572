import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';

/** PostgreSQL's default. */
const ITERATIONS = 4096;

/**
 * Returns the SCRAM-SHA-256 verifier of a password (RFC 7677), which PostgreSQL takes in place of the password and stores as it is. A statement
 * with a password would put it into the server's log, for example with `log_statement=ddl`.
 */
export function scramVerifier(password: string, salt: Buffer = randomBytes(16)): string {
  const salted = pbkdf2Sync(prepare(password), salt, ITERATIONS, 32, 'sha256');
  const keyOf = (name: string) => createHmac('sha256', salted).update(name).digest();
  const storedKey = createHash('sha256').update(keyOf('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${keyOf('Server Key').toString('base64')}`;
}

/** Normalizes a password by SASLprep (RFC 4013), as clients do: spaces, characters that are mapped to nothing, and compatibility forms. */
function prepare(password: string): string {
  return password
    .replaceAll(/[\u00A0\u1680\u2000-\u200B\u202F\u205F\u3000]/g, ' ')
    .replaceAll(/\u00AD|\u034F|\u1806|\u180B|\u180C|\u180D|\u200C|\u200D|\u2060|[\uFE00-\uFE0F]|\uFEFF/g, '')
    .normalize('NFKC');
}
