import { beforeAll, describe, expect, it } from 'vitest';
import { hashPassword, passwordProblem, verifyPassword } from './password.ts';

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

  it('match regardless of Unicode composition (NFC or NFD)', async () => {
    expect(await verifyPassword('Zoe\u0308 Zoe\u0308', await hashPassword('Zo\u00eb Zo\u00eb'))).toBe(true);
  });

  it('verify against hashes with other cost parameters, as a later version may set', async () => {
    // From the reference implementation's own tests.
    const foreign = '$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4';
    expect(await verifyPassword('password', foreign)).toBe(true);
    expect(await verifyPassword('passwort', foreign)).toBe(false);
  });

  it.each(['', 'password', '$argon2i$v=19$m=64,t=1,p=1$c2FsdHNhbHQ$AAAA', '$argon2id$v=16$m=64,t=1,p=1$c2FsdHNhbHQ$AAAA'])(
    'never verify against a string that is not one of our hashes: %s',
    async (phc) => expect(await verifyPassword('password', phc)).toBe(false),
  );
});

const CONTEXT = ['acme', 'Acme Research Ltd', 'Annabel Winterbottom', 'annabel.winterbottom@acme.example', null, undefined];

describe('a password', () => {
  it.each([
    'passwordpassword',
    'password12345',
    'qwertyuiop123',
    'aaaaaaaaaaaa',
    'abcabcabcabcabc',
    'P@$$w0rd1234',
    'Winterbottom2026',
    'W1nterb0tt0m2026',
    'acmeresearch1',
    'annabelacme1',
    `${'password'.repeat(8)}x8f3kQz2pLw4`,
  ])('that is well known, repetitive or made of names is refused: %s', async (password) => {
    expect(await passwordProblem(password, CONTEXT)).toMatch(/^is too easy to guess: /);
  });

  it.each(['x8f3kQz2pLw4', 'plum tart on a late tram', 'quiet otters mend clocks', 'дождь и крошки чая'])(
    'is accepted if it is hard to guess: %s',
    async (password) => {
      expect(await passwordProblem(password, CONTEXT)).toBeUndefined();
    },
  );
});

describe('the time to score a password', () => {
  const words = Array.from({ length: 5 }, (_, i) => 'acme winterbottom '.repeat(12).slice(i, 200));
  beforeAll(() => passwordProblem('loads the dictionaries', words));

  const alphabet = 'aA4@8({[<369!1|0$5+7%2.-_ qwertyuiopé';
  const mixed = Array.from({ length: 4 }, (_, seed) =>
    Array.from({ length: 97 }, (__, i) => alphabet[(i * (seed + 3) + i * i * 7) % alphabet.length]).join(''),
  );
  const repeated = [
    '4@8({[<369!1|0$5+7%2',
    '1.1.2000',
    'p4$$w0rd',
    '12345',
    '1',
    '@',
    '|\\/|',
    'monkeydragonletmein',
    'a-b_c ',
    '😀',
  ];
  // Without bounds in the scoring, several of these take more than a second each.
  it.each([...repeated, ...mixed])('is bounded for a hostile password of 256 characters: %s', async (text) => {
    const password = text.repeat(256).slice(0, 256);
    const times = [];
    for (let i = 0; i < 2; i++) {
      const started = process.threadCpuUsage();
      await passwordProblem(password, words);
      const { user, system } = process.threadCpuUsage(started);
      times.push((user + system) / 1_000);
    }
    expect(Math.min(...times)).toBeLessThan(150);
  });
});
