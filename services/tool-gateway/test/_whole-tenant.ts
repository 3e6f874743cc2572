// A generator of random organizations that use every field of every record type, for the test of export and import.
import fc from 'fast-check';
import { ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import { PROJECTS, records, tenant, USERS } from './_oracle.ts';

const text = fc.constantFrom(
  '',
  'x',
  'Eva: Yes.\nNo: 😀',
  'Eva',
  ' \t"quoted"\\',
  '\u2028',
  'Ü'.normalize('NFD'),
  '<b>&amp;</b>',
);
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null, freq: 3 });
const user = fc.constantFrom(...USERS);

const segments = fc.array(
  fc.record({ speaker: maybe(text), start_seconds: maybe(fc.constantFrom(0, 0.5, 1e21)), text }, { requiredKeys: ['text'] }),
  { maxLength: 3 },
);
const transcript = maybe(fc.oneof(text, segments));
const details = fc.record(
  {
    anonymity_status: maybe(fc.constantFrom('not_requested', 'started', 'complete', 'errored')),
    anonymized_name: maybe(text),
    participants: fc.array(fc.record({ name: maybe(text), role: maybe(text), email: maybe(fc.constant('p@x.example')) }), {
      maxLength: 2,
    }),
    ktas: maybe(text),
    kta_approval_status: maybe(fc.constantFrom('pending', 'approved')),
    qa_blocks: fc.uniqueArray(
      fc.record(
        { id: fc.uuid(), question: maybe(text), answer: maybe(text), section: maybe(text) },
        { requiredKeys: ['question'] },
      ),
      { maxLength: 3, selector: ({ id }) => id ?? {} },
    ),
    notes: fc.uniqueArray(fc.record({ email: user, text: maybe(text) }), { maxLength: 3, selector: ({ email }) => email }),
    summary: maybe(text),
    transcript,
    redacted_transcript: transcript,
    language: maybe(fc.constant('en')),
  },
  { requiredKeys: [] },
);

const office = fc.constantFrom('London', 'Paris', 'Zürich', 'paris');
const further = fc.record({
  settings: fc.record({
    anonymize_interviewees: fc.boolean(),
    clients: fc.constantFrom('any', 'listed'),
    client_hosts: fc.subarray(['claude.ai', 'localhost:8443']),
    own_tokens: fc.boolean(),
    allowed_fields: maybe(fc.oneof(fc.subarray([...ALLOWED_FIELDS]), fc.constant([...ALLOWED_FIELDS]))),
    rate_limit: fc.record({
      requests: fc.integer({ min: 100_000, max: 1_000_000 }),
      period_seconds: fc.integer({ min: 60, max: 90 }),
    }),
  }),
  offices: fc.uniqueArray(fc.record({ name: office, is_default: fc.boolean() }), { selector: ({ name }) => name }),
  projects: fc.array(fc.record({ summary: maybe(text), status: maybe(text), office: maybe(office) }), {
    minLength: PROJECTS.length,
    maxLength: PROJECTS.length,
  }),
  details: fc.array(details, { minLength: 24, maxLength: 24 }),
  entity: fc.record({
    category: maybe(text),
    competitor_tier: maybe(text),
    is_competitor: maybe(fc.boolean()),
    description: maybe(text),
    overview: maybe(text),
    domain: maybe(text),
  }),
});

export const wholeTenant = fc.record({ tenant, further });
type WholeTenant = typeof wholeTenant extends fc.Arbitrary<infer T> ? T : never;

/** The import records of the organization. */
export function wholeRecords(organization: string, { tenant: base, further: more }: WholeTenant): object[] {
  const offices = more.offices.map((fields) => ({ type: 'billing_office', organization, ...fields }));
  const counts = { project: 0, call: 0 };
  const lines = (records(organization, base) as Record<string, unknown>[]).map((line) => {
    switch (line['type']) {
      case 'organization':
        return { ...line, ...more.settings, write_surface: true };
      case 'project': {
        const { office: named, ...fields } = more.projects[counts.project++]!;
        const exists = more.offices.some(({ name }) => name === named);
        return { ...line, ...fields, billing_office_name: exists ? named : null };
      }
      case 'call':
        return { ...line, ...more.details[counts.call++] };
      case 'entity':
        return { ...line, ...more.entity };
      default:
        return line;
    }
  });
  const [first, ...rest] = lines;
  return [first!, ...offices, ...rest];
}
