/** Generates requests to every route of the OpenAPI document: valid ones, and ones with an invalid part. */
import fc from 'fast-check';
import type { Document, OperationObject, Parameter, Schema } from '@crs/testing/openapi';
import { credentials, harmless } from './headers.ts';
import { CALL_IDS, EMAILS, PROJECTS } from './records.ts';
import { bad, bounded, good, headersOf, mostly, open, outcomes, type Credential, type Fuzzed, type Part } from './request.ts';
import type { FuzzSystem } from './system.ts';
import { broken, instantOf, noInstant, someInstant, text, valid } from './values.ts';

const WRITE_SURFACE = new Set(['/billing-offices', '/projects', '/projects/{project_id}']);
const MAX_BODY_BYTES = 64 * 1024;
/** The start of a range must be before its end. */
const BOUNDS: Record<string, fc.Arbitrary<string>> = {
  start_date: instantOf(fc.integer({ min: Date.UTC(1900, 0), max: Date.UTC(2024, 0) })),
  end_date: instantOf(fc.integer({ min: Date.UTC(2025, 0), max: Date.UTC(2100, 0) })),
};

interface Body {
  content: Part<string>;
  key: string | undefined;
}

export function restRequests(system: FuzzSystem, document: Document): fc.Arbitrary<Fuzzed> {
  const routes = Object.entries(document.paths).flatMap(([template, operations]) =>
    Object.entries(operations).map(([method, operation]) => toRoute(system, document, { template, method, operation })),
  );
  return fc.oneof(...routes).map(bounded);
}

function toRoute(
  system: FuzzSystem,
  document: Document,
  { template, method, operation }: { template: string; method: string; operation: OperationObject },
): fc.Arbitrary<Fuzzed> {
  const isWrite = method === 'post';
  const verb = method.toUpperCase();
  const body: fc.Arbitrary<Body | undefined> = isWrite ? newProjects(document, operation) : fc.constant(undefined);
  return fc
    .record({
      credential: credentials(system.keys, system.addressLimit),
      verb: mostly(
        12,
        fc.constantFrom(...(isWrite ? ['POST'] : ['GET', 'HEAD'])).map(good),
        fc.constantFrom('PUT', 'DELETE', 'PATCH').map((other) => bad(other, '405')),
      ),
      path: paths(template),
      query: queries(operation.parameters),
      body,
      more: harmless,
    })
    .map(({ credential, verb: sent, path, query, body: project, more }): Fuzzed => {
      const isRefused = operation.security === undefined && !credential.isUsable;
      const parts = [
        isRefused ? bad(null, '401') : good(null),
        sent,
        WRITE_SURFACE.has(template) ? surface(credential, isWrite) : good(null),
        ...(project ? [project.content] : []),
        query,
        path,
      ];
      const created = project?.key?.startsWith('again') ? ['201', '409', '422'] : ['201'];
      const expected = outcomes(parts, project ? created : ['200']);
      return {
        route: `${verb} ${template}`,
        server: 'api',
        method: sent.value,
        target: `/v1${path.value}${query.value && `?${query.value}`}`,
        headers: headersOf([
          ['Host', system.api],
          ['Authorization', credential.header],
          ['Content-Type', project && 'application/json'],
          ['Idempotency-Key', project?.key],
          ...more,
        ]),
        ...(project && { body: project.content.value }),
        ...(sent.fault === undefined && { operation: { method, template } }),
        credential,
        expected: credential.isScarce ? [...expected, '429'] : expected,
      };
    });
}

/** The refusal if the organization or the key may not use the route. */
function surface({ writes }: Credential, isWrite: boolean): Part<null> {
  return writes === 'none' || (isWrite && writes === 'reads') ? bad(null, '404') : good(null);
}

function paths(template: string): fc.Arbitrary<Part<string>> {
  const put = (value: string) => template.replace(/\{\w+\}/, () => encodeURIComponent(value.toWellFormed()));
  const known = { '/calls/{call_id}': CALL_IDS, '/projects/{project_id}': PROJECTS }[template];
  if (known === undefined) return fc.constant(good(template));
  const isCall = template === '/calls/{call_id}';
  const unknown = isCall ? text(1, 3_000).filter((id) => !known.includes(id)) : fc.uuid();
  return mostly(
    3,
    fc.constantFrom(...known).map((id) => good(put(id))),
    unknown.map((id) => bad(put(id), '404')),
  );
}

/** Some of the parameters, at times one of them with a value that its schema doesn't allow. */
function queries(parameters: Parameter[]): fc.Arbitrary<Part<string>> {
  const known = parameters.filter((parameter) => parameter.in === 'query');
  const [required, others] = [known.filter((each) => each.required), known.filter((each) => !each.required)];
  const optional = others.filter(({ name }) => name !== 'cursor');
  const pair = ({ name, schema }: Parameter) =>
    (BOUNDS[name] ?? textOf(schema).fine).map((value): [string, string] => [name, value]);
  const fine = fc
    .subarray(optional)
    .chain((chosen) => fc.tuple(...[...required, ...chosen].map(pair)))
    .map((pairs) => Object.fromEntries(pairs));
  const wrong = fc.oneof(
    ...known.map(({ name, schema }) => textOf(schema).wrong.map((value): [string, string] => [name, value])),
    fc.constantFrom('nonsense', '__proto__', 'PAGE').map((name): [string, string] => [name, '1']),
  );
  const render = (values: Record<string, string>) => new URLSearchParams(values).toString();
  return mostly(
    4,
    // Details have a smaller page, and flags that only they have, so such a query may be refused.
    fine.map((values) => (/expand|include_/.test(render(values)) ? open(render(values), '400') : good(render(values)))),
    fc.tuple(fine, wrong).map(([values, [name, value]]) => bad(render({ ...values, [name]: value }), '400')),
  );
}

/** A parameter's values as text: those that the schema allows, and others. */
function textOf(schema: Schema): { fine: fc.Arbitrary<string>; wrong: fc.Arbitrary<string> } {
  const words = schema['enum'] as string[] | undefined;
  if (words) return { fine: fc.constantFrom(...words), wrong: text(0, 3_000).filter((value) => !words.includes(value)) };
  switch (schema['type']) {
    case 'integer': {
      const above = String((schema['maximum'] as number) + 1);
      const wrong = fc.constantFrom('', '0', '-1', '01', '1.0', '1e1', '0x1', ' 1', '1\0', '٣', 'NaN', above, '9'.repeat(400));
      return { fine: valid(schema).map(String), wrong };
    }
    case 'boolean':
      return { fine: fc.constantFrom('true', 'false'), wrong: fc.constantFrom('', 'TRUE', '1', 'yes', ' true', 'null') };
    default:
      // A timestamp, or a cursor, which can't be made up.
      return { fine: someInstant, wrong: noInstant };
  }
}

/** Bodies of `POST /projects`, most of them with users that exist. */
function newProjects(document: Document, operation: OperationObject): fc.Arbitrary<Body> {
  const { schema } = operation.requestBody!.content['application/json'];
  const reference = (schema['$ref'] as string | undefined)?.split('/').at(-1);
  const { properties } = (reference === undefined ? schema : document.components.schemas[reference]) as {
    properties: Record<string, Schema>;
  };
  const fields = fc.record(
    {
      name: text(1, 200).filter((name) => name.trim() !== ''),
      lead_email: fc.constantFrom(EMAILS.ann, EMAILS.bob, EMAILS.ann.toUpperCase()),
      member_emails: fc.array(fc.constantFrom(EMAILS.ann, EMAILS.bob), { maxLength: 100 }),
      summary: text(0, 2_000),
    },
    { requiredKeys: ['name', 'lead_email'] },
  );
  const wrong = fc.oneof(...Object.entries(properties).map(([name, each]) => broken(each).map((value) => ({ [name]: value }))));
  const content = mostly<Part<string>>(
    4,
    fields.map((all) => good(JSON.stringify(all))),
    fc.tuple(fields, wrong).map(([all, one]) => bad(JSON.stringify({ ...all, ...one }), '400')),
    // Users are looked up after the key, which an earlier request may have used with another body.
    fields.map((all) => ({
      value: JSON.stringify({ ...all, lead_email: 'nobody@crs.example' }),
      fault: '400',
      maybe: ['409', '422'],
    })),
    fc.constantFrom('', 'null', '[]', '{', '{}', '{"name":"x",}', '['.repeat(10_000)).map((raw) => bad(raw, '400')),
    fields.map((all) => good(JSON.stringify(all).padEnd(MAX_BODY_BYTES + 1))),
  ).map((part) => (Buffer.byteLength(part.value) > MAX_BODY_BYTES ? bad(part.value, '413') : part));
  const key = fc.oneof(
    fc.constant(undefined),
    fc.uuid(),
    fc.nat(10).map((n) => `again-${n}`),
  );
  return fc.record({ content, key });
}
