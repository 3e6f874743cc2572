import { describe, expect, it } from 'vitest';
import { readConfig } from './config.ts';

const NEEDED = {
  CRS_API_URL: 'https://api.acme.example',
  CRS_AUTH_ADDRESS: 'auth:1',
  CRS_CALLS_ADDRESS: 'calls:1',
  CRS_PROJECTS_ADDRESS: 'projects:1',
  CRS_ENTITIES_ADDRESS: 'entities:1',
  CRS_RATE_LIMIT_ADDRESS: 'rate-limit:1',
};

describe('CRS_API_URL', () => {
  it.each([
    ['https://api.acme.example', 'https://api.acme.example'],
    ['https://api.acme.example/', 'https://api.acme.example'],
    ['HTTP://API.acme.example:8080', 'http://api.acme.example:8080'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
  ])('set to %s is read as %s', (given, origin) => {
    expect(readConfig({ ...NEEDED, CRS_API_URL: given }).publicUrl).toBe(origin);
  });

  it.each([
    '',
    'api.acme.example',
    'ftp://api.acme.example',
    'https://api.acme.example/v1',
    'https://a@b.example',
    'https://b.example?x',
  ])('set to "%s" is refused with an error that names the setting', (given) => {
    expect(() => readConfig({ ...NEEDED, CRS_API_URL: given })).toThrow(/CRS_API_URL: /);
  });
});

describe('CRS_TENANT_METRICS', () => {
  it('is off by default, and must be true or false', () => {
    expect(readConfig(NEEDED).tenantMetrics).toBe(false);
    expect(readConfig({ ...NEEDED, CRS_TENANT_METRICS: 'true' }).tenantMetrics).toBe(true);
    expect(() => readConfig({ ...NEEDED, CRS_TENANT_METRICS: '20' })).toThrow(/CRS_TENANT_METRICS: /);
  });
});
