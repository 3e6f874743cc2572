import { describe, expect, it } from 'vitest';
import { allowedHosts } from './relying-party.ts';

const ENTRIES = [
  { host: 'Login.corp:443' },
  { host: 'keys.corp:8443' },
  { host: '[::1]:9443' },
  { organization: 'acme', host: 'idp.corp:443' },
];

describe('an allowed host of OpenID providers', () => {
  it.each([
    ['https://login.corp', ['Login.corp:443']],
    ['https://login.corp:443/realms/a', ['Login.corp:443']],
    ['https://keys.corp:8443', ['keys.corp:8443']],
    ['https://[::1]:9443', ['[::1]:9443']],
    ['https://login.corp:8443', []],
    ['https://keys.corp', []],
    ['https://evil.example', []],
    ['https://login.corp.evil.example', []],
    ['https://idp.corp', []],
  ])('counts for %s only if it is the host of this issuer', (issuer, hosts) => {
    expect(allowedHosts(ENTRIES, 'globex', issuer)).toEqual(hosts);
  });

  it('that names an organization counts for every issuer of that organization, and for no other one', () => {
    expect(allowedHosts(ENTRIES, 'acme', 'https://login.corp')).toEqual(['Login.corp:443', 'idp.corp:443']);
    expect(allowedHosts(ENTRIES, 'acme', 'https://elsewhere.example')).toEqual(['idp.corp:443']);
    expect(allowedHosts(ENTRIES, 'acme-2', 'https://elsewhere.example')).toEqual([]);
  });
});
