import { decodeProtectedHeader } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createVerifier, type Identity } from '@crs/kit/rpc/identity';
import { passTime } from '@crs/testing/pass-time';
import { SECRET } from '@crs/testing/setup';
import type { TestDatabase } from '@crs/testing/postgres';
import type { Signer } from '../src/keys/signer.ts';
import { emptyDatabase, failureOf, query, startSigner } from './_fixtures.ts';

const ANN: Identity = { kind: 'user', organization: 'acme', userId: 'ann', scopes: [] };

let database: TestDatabase;
let closers: (() => Promise<void>)[];
beforeEach(async () => {
  database = await emptyDatabase();
  closers = [];
});
afterEach(async () => {
  for (const close of closers) await close();
  await database.drop();
});

async function replica(secret = SECRET): Promise<Signer> {
  const { signer, close } = await startSigner(database.url, secret);
  closers.push(close);
  return signer;
}
const verifierOf = (signer: Signer) => createVerifier('calls', () => signer.publicKeys());
const sign = (signer: Signer) => signer.sign(ANN, 60);
const signedBy = async (signer: Signer) => decodeProtectedHeader(await sign(signer)).kid!;
const stored = () =>
  query<{ key: string; ahead: number }>(
    database.url,
    `select key_id as key, round(extract(epoch from sign_from - now()) / 60)::int as ahead from auth.caller_keys order by sign_from desc`,
  );
/** Makes every key older by the interval. */
const pass = (interval: string) =>
  query(database.url, 'update auth.caller_keys set sign_from = sign_from - $1::interval', [interval]);

describe('replicas', () => {
  it('that start together agree on one key and verify each other', async () => {
    const signers = await Promise.all(Array.from({ length: 4 }, () => replica()));
    expect(await stored()).toHaveLength(1);
    const [keys, ...others] = await Promise.all(signers.map((signer) => signer.publicKeys()));
    for (const other of others) expect(other).toEqual(keys);
    for (const signer of signers) {
      for (const other of signers) expect(await verifierOf(other)(await sign(signer))).toEqual(ANN);
    }
  });

  it('that start together make one successor when it is due', async () => {
    const first = await signedBy(await replica());
    await pass('23 hours 55 minutes');
    const signers = await Promise.all(Array.from({ length: 4 }, () => replica()));
    expect((await stored()).map(({ ahead }) => ahead)).toEqual([10, -1435]);
    for (const signer of signers) {
      expect(await signedBy(signer)).toBe(first);
      expect((await signer.publicKeys()).size).toBe(2);
    }
  });
});

describe('rotation', () => {
  it('changes keys while every token can be verified', async () => {
    const first = await replica();
    const old = await sign(first);
    await pass('23 hours 55 minutes');
    const second = await replica();
    // A replica that does not know the successor yet still verifies and signs.
    expect(await verifierOf(first)(await sign(second))).toEqual(ANN);

    await pass('11 minutes');
    const third = await replica();
    const young = await sign(third);
    expect(await signedBy(third)).not.toBe(decodeProtectedHeader(old).kid);
    passTime(1_001);
    for (const signer of [first, second]) expect(await signedBy(signer)).toBe(decodeProtectedHeader(young).kid);
    for (const signer of [second, third]) {
      expect(await verifierOf(signer)(young)).toEqual(ANN);
      expect(await verifierOf(signer)(old), 'a token of the previous key').toEqual(ANN);
    }

    await pass('10 minutes');
    const fourth = await replica();
    expect(await stored()).toHaveLength(1);
    expect(await verifierOf(fourth)(young)).toEqual(ANN);
    expect((await failureOf(verifierOf(fourth)(old)))?.kind).toBe('unauthenticated');
  });

  it('lists the newest key first', async () => {
    await replica();
    await pass('23 hours 55 minutes');
    const keys = [...(await (await replica()).publicKeys()).keys()];
    expect(keys).toEqual((await stored()).map(({ key }) => key));
  });
});

describe('private keys', () => {
  it('are unreadable in the database', async () => {
    await replica();
    const [row] = await query<{ encrypted: Buffer }>(
      database.url,
      'select private_key_encrypted as encrypted from auth.caller_keys',
    );
    expect(row!.encrypted.toString('latin1')).not.toContain('PRIVATE KEY');
  });

  it("can't be used by a replica with another secret, and stay usable by the others", async () => {
    const good = await replica();
    const wrong = await replica(`${SECRET}x`);
    await expect(sign(wrong)).rejects.toThrow();
    await expect(wrong.publicKeys()).rejects.toThrow();
    // The keys also stay usable when a new one is due.
    await pass('23 hours 55 minutes');
    await expect(sign(await replica(`${SECRET}x`))).rejects.toThrow();
    expect(await verifierOf(await replica())(await sign(good))).toEqual(ANN);
  });
});

describe('a signer whose database is unavailable at first', () => {
  it('starts without its database, and signs once it is back', async () => {
    await query(database.url, 'alter table auth.caller_keys rename to away');
    const signer = await replica();
    await expect(sign(signer)).rejects.toThrow();
    await query(database.url, 'alter table auth.away rename to caller_keys');
    expect(await verifierOf(signer)(await sign(signer))).toEqual(ANN);
  });
});
