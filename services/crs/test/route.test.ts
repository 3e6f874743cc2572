import { describe, expect, test } from 'vitest';
import { route } from '../src/import/route.ts';

const routeText = (text: string | Buffer) => route({ number: 7, bytes: Buffer.from(text), end: 0 });
const refusal = (field: string | null, reason: RegExp | string) => ({
  line: 7,
  field,
  reason: typeof reason === 'string' ? reason : expect.stringMatching(reason),
});

describe('the routing of a line', () => {
  test.each([
    ['{"type":"organization","id":"acme"}', 'auth', 'organization'],
    ['{"type":"user","organization":"acme"}', 'auth', 'user'],
    ['{"type":"billing_office","organization":"acme"}', 'projects', 'billing_office'],
    ['{"type":"project","organization":"acme","deleted":false}', 'projects', 'project'],
    ['{"type":"call","organization":"acme"}', 'calls', 'call'],
    ['{"type":"entity","organization":"acme"}', 'entities', 'entity'],
    ['{"type":"call","organization":"acme","deleted":true}', 'calls', 'deleted call'],
    ['{"type":"entity","organization":"acme","deleted":true}', 'entities', 'deleted entity'],
    ['{"type":"project","organization":"acme","deleted":true}', 'erasure', 'deleted project'],
    ['{"type":"user","organization":"acme","deleted":true}', 'erasure', 'deleted user'],
  ])('finds the service that stores its type: %s', (text, service, group) => {
    expect(routeText(text)).toMatchObject({ number: 7, organization: 'acme', service, group, bytes: Buffer.from(text) });
  });

  test.each([
    ['{"type":"call","organization":"acme","id":"Call-1"}', 'Call-1'],
    ['{"type":"user","organization":"acme","email":"ann@acme.example"}', 'ann@acme.example'],
    ['{"type":"billing_office","organization":"acme","name":"London"}', ''],
    ['{"type":"call","organization":"acme","id":7}', ''],
  ])('reads the id by which lines of the same record are recognized: %s', (text, id) =>
    expect(routeText(text)).toMatchObject({ id }),
  );

  test('leaves a malformed deletion to the service, which refuses it', () => {
    expect(routeText('{"type":"call","organization":"acme","deleted":"yes"}')).toMatchObject({ service: 'calls', group: 'call' });
  });
});

test.each(['', ' ', '\t \r'])('a line of %j is skipped as blank', (text) => expect(routeText(text)).toBeUndefined());

describe('a line is refused without a call to a service', () => {
  test('if it is too long', () => {
    expect(route({ number: 7, bytes: undefined, end: 0 })).toEqual(refusal(null, 'must be at most 8 MiB long'));
  });

  test.each([
    ['{"type":', null, 'must be valid JSON'],
    ['\uFEFF{}', null, 'must be valid JSON'],
    ['null', null, 'must be a JSON object'],
    ['[]', null, 'must be a JSON object'],
    ['"call"', null, 'must be a JSON object'],
    ['{}', 'type', 'is required: one of organization, user, billing_office, project, call, entity'],
    ['{"type":null}', 'type', /^must be one of organization, user, /],
    ['{"type":"toString","organization":"acme"}', 'type', /^must be one of /],
    ['{"type":"billing_office","organization":"acme","deleted":true}', 'deleted', 'is not possible for this type'],
    ['{"type":"organization","id":"acme","deleted":true}', 'deleted', 'is not possible by import; use "crs org delete"'],
    ['{"type":"entity","organization":"Acme","deleted":true}', 'organization', /^must be 1 to 40 /],
    ['{"type":"call"}', 'organization', 'is required'],
    ['{"type":"call","organization":null}', 'organization', /^must be 1 to 40 /],
    ['{"type":"call","organization":"Acme"}', 'organization', /^must be 1 to 40 /],
    ['{"type":"organization","organization":"acme"}', 'id', 'is required'],
    ['{"type":"organization","id":7}', 'id', /^must be 1 to 40 /],
  ])('if it is %s', (text, field, reason) => expect(routeText(text)).toEqual(refusal(field, reason)));

  test('if it is not valid UTF-8', () => {
    const cut = Buffer.concat([Buffer.from('{"type":"'), Buffer.from('é').subarray(0, 1), Buffer.from('"}')]);
    expect(routeText(cut)).toEqual(refusal(null, 'must be valid UTF-8'));
  });

  test('if it has a million open brackets', () => {
    expect(routeText('['.repeat(1_000_000))).toEqual(refusal(null, 'must have at most 200000 values'));
  });
});

test('the reason of a refusal never repeats a value of the line', () => {
  for (const text of ['{"type":"s3cret"}', '{"type":"call","organization":"S3cret"}', '{"s3cret']) {
    expect(JSON.stringify(routeText(text)).toLowerCase()).not.toContain('s3cret');
  }
});

describe('an import that is limited to an organization and types of records', () => {
  const routeLimited = (line: object) =>
    route(
      { number: 7, bytes: Buffer.from(JSON.stringify(line)), end: 0 },
      { organization: 'acme', types: ['organization', 'call'] },
    );

  test.each([
    [{ type: 'call', organization: 'acme', id: 'x' }, undefined],
    [{ type: 'organization', id: 'acme' }, undefined],
    [{ type: 'call', organization: 'victim', id: 'x' }, 'organization'],
    [{ type: 'call', organization: 'victim', id: 'x', deleted: true }, 'organization'],
    [{ type: 'organization', id: 'victim' }, 'id'],
    [{ type: 'user', organization: 'acme', email: 'ann@acme.example' }, 'type'],
    [{ type: 'project', organization: 'acme', id: 'x', deleted: true }, 'type'],
  ])('accepts only lines within these limits: %j', (line, field) => {
    const routed = routeLimited(line)!;
    expect('reason' in routed ? routed.field : undefined).toBe(field);
  });
});
