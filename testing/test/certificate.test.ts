import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { createAuthority } from '@crs/testing/certificate';

test('Node.js can read certificates of every length', () => {
  const authority = createAuthority('ours');
  for (let length = 1; length <= 48; length++) {
    const name = 'a'.repeat(length);
    expect(new X509Certificate(authority.issue(name).cert).subject).toBe(`CN=${name}`);
  }
});
