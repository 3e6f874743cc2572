import { describe, expect, it } from 'vitest';
import { readConfig } from './config.ts';

const NEEDED = {
  DATABASE_URL: 'postgres://crs_auth@localhost/crs',
  CRS_SECRET: 'one:a-secret-that-is-long-enough-for-this-0123456789',
  CRS_TOOLS_URL: 'https://tools.example',
};
const allowed = (text: string) => readConfig({ ...NEEDED, CRS_OIDC_ALLOW_HOSTS: text }).oidcAllowHosts;

describe('CRS_OIDC_ALLOW_HOSTS', () => {
  it('accepts hosts for all organizations and for one', () => {
    expect(allowed('login.corp:443, acme=idp.corp:8443,[::1]:443')).toEqual([
      { host: 'login.corp:443' },
      { organization: 'acme', host: 'idp.corp:8443' },
      { host: '[::1]:443' },
    ]);
  });

  it.each(['login.corp', 'acme=login.corp', '=login.corp:443', 'Acme=login.corp:443', 'a=b=login.corp:443', 'login.corp:443,'])(
    'refuses %j',
    (text) => {
      expect(() => allowed(text)).toThrow(/CRS_OIDC_ALLOW_HOSTS: must be host:port or organization=host:port/);
    },
  );
});

describe('CRS_ACCESS_TOKEN_SECONDS', () => {
  const seconds = (text?: string) =>
    readConfig({ ...NEEDED, ...(text !== undefined && { CRS_ACCESS_TOKEN_SECONDS: text }) }).accessTokenSeconds;

  it('is a day by default, and from ten minutes to a week', () => {
    expect([seconds(), seconds('600'), seconds('604800')]).toEqual([86_400, 600, 604_800]);
  });

  it.each(['599', '604801', '1.5', 'a day'])('refuses %j', (text) => {
    expect(() => seconds(text)).toThrow(/CRS_ACCESS_TOKEN_SECONDS/);
  });
});
