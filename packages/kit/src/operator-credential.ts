import { randomBytes } from 'node:crypto';

/** Creates an operator credential: `cro_` and 256 random bits. */
export function createOperatorCredential(): string {
  return `cro_${randomBytes(32).toString('base64url')}`;
}
