import { createHmac } from 'node:crypto';
import { expect, it } from 'vitest';
import { scramVerifier } from './scram.ts';

/** The exchange of section 3 of RFC 7677: its messages without proof, and the server's signature. */
const NONCE = 'rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0';
const SALT = 'W22ZaJ0SNY7soEsUEjb6gQ==';
const AUTH_MESSAGE = `n=user,r=rOprNGfwEbeRWgbNEkqO,r=${NONCE},s=${SALT},i=4096,c=biws,r=${NONCE}`;
const SIGNATURE = '6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=';

it("a verifier's server key makes the signature of the example in RFC 7677", () => {
  const verifier = scramVerifier('pencil', Buffer.from(SALT, 'base64'));
  const [, salt, serverKey] = /^SCRAM-SHA-256\$4096:([^$]+)\$[\w+/]{43}=:(.+)$/.exec(verifier)!;
  expect(salt).toBe(SALT);
  expect(createHmac('sha256', Buffer.from(serverKey!, 'base64')).update(AUTH_MESSAGE).digest('base64')).toBe(SIGNATURE);
});

it('each verifier of a password has another salt', () => {
  expect(scramVerifier('pencil')).not.toBe(scramVerifier('pencil'));
});
