import { describe, expect, it } from 'vitest';
import { hashPassword, verifyPassword } from './password.ts';

describe('passwords', () => {
  it('verify against their own hash only', async () => {
    const hash = await hashPassword('correct horse');
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(await verifyPassword('correct horse', hash)).toBe(true);
    expect(await verifyPassword('correct horsf', hash)).toBe(false);
    expect(await verifyPassword('', hash)).toBe(false);
  });

  it('hash differently each time', async () => {
    expect(await hashPassword('correct horse')).not.toBe(await hashPassword('correct horse'));
  });

  it('are the same however their characters are composed', async () => {
    expect(await verifyPassword('Zoe\u0308 Zoe\u0308', await hashPassword('Zo\u00eb Zo\u00eb'))).toBe(true);
  });

  it('verify against hashes of another cost, as a later version may set', async () => {
    // From the reference implementation's own tests.
    const foreign = '$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4';
    expect(await verifyPassword('password', foreign)).toBe(true);
    expect(await verifyPassword('passwort', foreign)).toBe(false);
  });

  it.each(['', 'password', '$argon2i$v=19$m=64,t=1,p=1$c2FsdHNhbHQ$AAAA', '$argon2id$v=16$m=64,t=1,p=1$c2FsdHNhbHQ$AAAA'])(
    'never verify against what is no hash of ours: %s',
    async (phc) => expect(await verifyPassword('password', phc)).toBe(false),
  );
});
