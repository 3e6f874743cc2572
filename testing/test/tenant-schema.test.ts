import { readFileSync } from 'node:fs';
import { tenantEntry } from '@crs/auth/tenant';
import { parseLine } from '@crs/records/import-record';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { mutations } from '../src/mutations.ts';
import { tenantsSchemaText } from '../src/tenant-schema.ts';

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
addFormats.default(ajv);
const isValid = ajv.compile(JSON.parse(tenantsSchemaText()) as object);
const validate = (entry: unknown) => isValid({ organizations: [entry] });
const accepted = (entry: unknown) => 'record' in parseLine(tenantEntry, Buffer.from(JSON.stringify(entry) ?? 'null'));

const page = readFileSync(new URL('../../docs/tenants.md', import.meta.url), 'utf8');
const examples = [...page.matchAll(/```yaml\n(organizations:[^]*?)```/g)].flatMap(
  ([, yaml]) => (parse(yaml!) as { organizations: object[] }).organizations,
);
const SHA256 = '0123456789abcdef'.repeat(4);
/** Every field. */
const WHOLE = {
  id: 'acme',
  name: 'Acme',
  write_surface: true,
  anonymize_interviewees: 'off',
  allowed_fields: ['summary'],
  rate_limit: { requests: 1, period_seconds: 2 },
  tool_rate_limit: '3/4',
  delete_limit: 5,
  retain_calls: '90d',
  retain_by: 'created',
  retain_per_day: 6,
  clients: 'listed',
  client_hosts: ['claude.ai'],
  own_tokens: false,
  assertion_issuers: ['https://acme.okta.com'],
  oidc: {
    issuer: 'https://idp.example',
    client_id: 'c',
    client_secret_file: 's',
    domains: ['acme.example'],
    email_proof: 'issuer',
  },
  keys: [{ label: 'erp', sha256: SHA256, rights: ['read'], networks: ['203.0.113.0/24'], expires_at: '2099-01-01T00:00:00Z' }],
  scim_tokens: [{ label: 'entra', sha256: SHA256 }],
  group_maps: [{ group: 'Boxes', project_id: '11111111-2222-4333-8444-55555555555a', role: 'lead' }],
  users: [{ email: 'ann@acme.example', name: 'Ann', disabled: 'on' }],
};
const OTHERS = [
  { id: 'a', allowed_fields: null, client_hosts: 'none', assertion_issuers: 'none', oidc: 'none' },
  { id: 'a', allowed_fields: 'default', keys: [{ sha256: SHA256, expires_at: null }] },
];

test('the schema that crs apply prints is the one generated from the validator', async () => {
  await expect(tenantsSchemaText()).toMatchFileSnapshot('../../services/crs/src/apply/schema.json');
});

test('the schema and the validator accept the examples of the documents and every field', () => {
  expect(examples.length).toBeGreaterThan(0);
  for (const entry of [...examples, WHOLE, ...OTHERS]) {
    expect(accepted(entry), JSON.stringify(entry)).toBe(true);
    expect(validate(entry), `${JSON.stringify(entry)} ${JSON.stringify(isValid.errors)}`).toBe(true);
  }
});

test('the schema accepts a changed entry exactly if the validator accepts it', () => {
  const entries = [...examples, WHOLE, ...OTHERS].flatMap((entry) => [...mutations(entry)]);
  const counts = { accepted: 0, refused: 0 };
  for (const text of new Set(entries.map((entry) => JSON.stringify(entry) ?? 'null'))) {
    const entry: unknown = JSON.parse(text);
    const good = accepted(entry);
    if (validate(entry) !== good) expect.fail(`${good ? 'accepted' : 'refused'}, but not by the schema: ${text.slice(0, 2_000)}`);
    counts[good ? 'accepted' : 'refused']++;
  }
  expect(counts.accepted).toBeGreaterThan(50);
  expect(counts.refused).toBeGreaterThan(500);
});
