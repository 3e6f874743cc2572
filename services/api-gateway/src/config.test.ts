import { describe, expect, it } from 'vitest';
import { readConfig } from './config.ts';

const NEEDED = {
  CRS_API_URL: 'https://api.acme.example',
  CRS_AUTH_ADDRESS: 'auth:1',
  CRS_CALLS_ADDRESS: 'calls:1',
  CRS_PROJECTS_ADDRESS: 'projects:1',
  CRS_RATE_LIMIT_ADDRESS: 'rate-limit:1',
};

describe('CRS_API_URL', () => {
  it.each([
    ['https://api.acme.example', 'https://api.acme.example'],
    ['https://api.acme.example/', 'https://api.acme.example'],
    ['HTTP://API.acme.example:8080', 'http://api.acme.example:8080'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
  ])('%s is %s', (given, origin) => {
    expect(readConfig({ ...NEEDED, CRS_API_URL: given }).publicUrl).toBe(origin);
  });

  it.each([
    '',
    'api.acme.example',
    'ftp://api.acme.example',
    'https://api.acme.example/v1',
    'https://a@b.example',
    'https://b.example?x',
  ])('"%s" stops the start, by name', (given) => {
    expect(() => readConfig({ ...NEEDED, CRS_API_URL: given })).toThrow(/CRS_API_URL: /);
  });
});

describe('CRS_TENANT_METRICS', () => {
  it('is nobody by default, and at most 100 organizations', () => {
    expect(readConfig(NEEDED).tenantMetrics).toBe(0);
    expect(readConfig({ ...NEEDED, CRS_TENANT_METRICS: '100' }).tenantMetrics).toBe(100);
    expect(() => readConfig({ ...NEEDED, CRS_TENANT_METRICS: '101' })).toThrow(/CRS_TENANT_METRICS: /);
  });
});
