/** Generates lines of records, and the properties of calls, with what the contract says of each. */
import fc from 'fast-check';
import { bad, good, open, type Part } from './request.ts';
import { EMAILS, PROJECTS } from './records.ts';
import { anyJson, text } from './values.ts';

/** A value that is part of texts, and that no response may repeat. */
const MARK = 'mark-of-a-value';

const numbered = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name}_${n}`);
/**
 * Ids of calls, the same in each organization. Kept ones are stored, and never deleted. Changing ones may or may not be stored. Absent ones are
 * never stored. Held ones are on legal hold in one organization, and changing in the other.
 */
export const IDS = {
  kept: numbered('kept', 20),
  changing: numbered('changing', 8),
  absent: numbered('absent', 8),
  held: numbered('held', 4),
};
/** The organization with the legal hold, and the project of the held calls. */
export const HOLD = { organization: 'north', project: PROJECTS[0]! };
export const isHeld = (id: string, organization: string | undefined) =>
  organization === HOLD.organization && id.startsWith('held_');
/** Whether a held call would leave its project if it were stored with these properties. A merge keeps what is absent. */
export function leavesProject({ project_id: project }: Record<string, unknown>, isMerge: boolean): boolean {
  return project === undefined ? !isMerge : typeof project !== 'string' || project.toLowerCase() !== HOLD.project;
}
export const entityIdOf = (id: string) => {
  const [name, n] = id.split('_') as [keyof typeof IDS, string];
  return `0000000${Object.keys(IDS).indexOf(name)}-2222-4333-8444-${n.padStart(12, '0')}`;
};

/** The fault of a line is the field at which it is refused. The kind `maybe` means that the line may be refused. */
export interface Line extends Part<string | Buffer> {
  /** What the line needs to be routed to a service: a known type, and no other organization. */
  type?: string;
  deletes?: boolean;
}

const someText = text(0, 40).map((value) => `${value} ${MARK}`);
const nullable = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { freq: 8 });
const timestamps = fc.constantFrom('2025-03-01T10:00:00Z', '2025-03-01t10:00:00.123456+02:00', '0001-01-01T00:00:00Z');
const emails = fc.constantFrom(EMAILS.ann, EMAILS.bob, EMAILS.ann.toUpperCase());
const transcripts = fc.oneof(
  someText,
  fc.array(fc.record({ speaker: nullable(someText), start_seconds: fc.nat(), text: someText }), { maxLength: 4 }),
);
const EXPERT = { name: someText, job_title: someText, organization: someText, country: someText, bio: someText };

const FINE: Record<string, fc.Arbitrary<unknown>> = {
  project_id: fc.constantFrom(...PROJECTS, PROJECTS[0]!.toUpperCase()),
  call_type: fc.constantFrom('interview', 'meeting'),
  call_status: fc.constantFrom('candidate', 'done', 'canceled'),
  anonymity_status: fc.constantFrom('started', 'complete'),
  date: timestamps,
  created_at: timestamps,
  duration_minutes: fc.double({ min: 0, max: 1e6, noNaN: true }),
  cost: fc.nat(),
  rating: fc.constantFrom(1, 2.5, 5),
  conducted_by: emails,
  segment: someText,
  source: someText,
  language: fc.constantFrom('en', ''),
  summary: someText,
  ktas: someText,
  kta_approval_status: fc.constantFrom('pending', 'approved'),
  anonymized_name: someText,
  expert: fc.record(EXPERT, { requiredKeys: [] }),
  participants: fc.array(fc.record({ name: someText, role: someText }, { requiredKeys: [] }), { maxLength: 3 }),
  qa_blocks: fc.array(fc.record({ id: fc.uuid(), question: someText }, { requiredKeys: [] }), { maxLength: 3 }),
  notes: fc.constantFrom([], [{ email: EMAILS.ann, text: MARK }], [{ email: EMAILS.bob, text: null }]),
  transcript: transcripts,
  redacted_transcript: transcripts,
};

/** Properties that no call can have, with the field that a refusal names, and whether only a look-up finds the fault. */
const WRONG: [properties: object, field: string | undefined, isLookUp?: boolean][] = [
  [{ rating: 0.5 }, 'rating'],
  [{ rating: '5' }, 'rating'],
  [{ cost: -1 }, 'cost'],
  [{ duration_minutes: [] }, 'duration_minutes'],
  [{ call_status: 'Done' }, 'call_status'],
  [{ call_type: MARK }, 'call_type'],
  [{ date: '2025-02-29T00:00:00Z' }, 'date'],
  [{ created_at: `${MARK}` }, 'created_at'],
  [{ summary: `a\0${MARK}` }, 'summary'],
  [{ summary: '\ud800' }, 'summary'],
  [{ summary: { [MARK]: MARK } }, 'summary'],
  [{ project_id: MARK }, 'project_id'],
  [{ project_id: '99999999-2222-4333-8444-555555555555' }, 'project_id', true],
  [{ conducted_by: `${MARK}@crs.example` }, 'conducted_by', true],
  [{ conducted_by: EMAILS.only }, 'conducted_by', true],
  [{ notes: [{ email: EMAILS.only, text: MARK }] }, undefined, true],
  [{ notes: [{ email: EMAILS.ann }, { email: EMAILS.ann.toUpperCase() }] }, 'notes[1].email'],
  [{ qa_blocks: [{ id: PROJECTS[0] }, { id: PROJECTS[0] }] }, 'qa_blocks[1].id'],
  [{ qa_blocks: {} }, 'qa_blocks'],
  [{ participants: [{ name: 1 }] }, 'participants[0].name'],
  [{ participants: Array(1_001).fill({}) }, 'participants'],
  [{ expert: MARK }, 'expert'],
  [{ expert: { name: MARK, age: 4 } }, 'expert.age'],
  [{ transcript: [{ speaker: 'Eva' }] }, 'transcript[0].text'],
  [{ transcript: 5 }, 'transcript'],
  [{ anonymized_name: 'a'.repeat(201) }, 'anonymized_name'],
  [{ unknown_property: MARK }, 'unknown_property'],
  [{ [`${MARK} x`]: 1 }, undefined],
  [JSON.parse('{"__proto__":{"rating":5}}') as object, undefined],
  [{ constructor: null }, undefined],
];

/** Text that is no JSON object. */
export const NO_OBJECTS: (string | Buffer)[] = [
  'null', '[]', '7', '"x"', '{', '{}}', "{'a':1}", '{"a":1,}', 'NaN', '\ufeff{}x', '//', '{"a":"\\x"}', '{"a":"\t"}',
  '['.repeat(20_000), '{"a":'.repeat(20_000), `[${'0,'.repeat(200_001)}0]`,
  Buffer.from('{"summary":"\xff"}', 'latin1'), Buffer.from('\xc3', 'latin1'), Buffer.from('{"a":"\xed\xa0\x80"}', 'latin1'),
]; // prettier-ignore

/** Properties of a call; a fault is the field of the refusal, or `?` for any. */
export const callProperties: fc.Arbitrary<Part<Record<string, unknown>> & { isLookUp?: boolean }> = fc
  .tuple(
    fc.record(Object.fromEntries(Object.entries(FINE).map(([name, value]) => [name, nullable(value)])), { requiredKeys: [] }),
    fc.option(fc.oneof(fc.constantFrom(...WRONG), unknownProperty()), { freq: 4 }),
  )
  .map(([fine, chosen]) => {
    const [wrong, field, isLookUp = false] = chosen ?? [];
    // A refusal names the first field that is wrong, and `defineProperty` also copies `__proto__`.
    const properties = Object.defineProperties({ ...fine }, Object.getOwnPropertyDescriptors(wrong ?? {}));
    return chosen ? { ...bad(properties, field ?? '?'), isLookUp } : good(properties);
  });

/** A property that no record has. */
function unknownProperty(): fc.Arbitrary<[object, undefined, undefined?]> {
  const known = new Set([...Object.keys(FINE), 'type', 'organization', 'id', 'deleted', 'merge']);
  return fc.tuple(text(1, 200), anyJson).filter(([name]) => !known.has(name) && name !== '__proto__').map(([name, value]) => [{ [name]: value }, undefined]); // prettier-ignore
}

/**
 * Generates a line.
 * @param organization the key's, and `other` another one
 * @param mayStore whether the line may be stored: otherwise it may also be of an absent call
 */
export function lines(organization: string, other: string, mayStore: boolean): fc.Arbitrary<Line> {
  const own = fc.constantFrom({}, { organization });
  const line = (part: Part<unknown>, more: Omit<Line, 'value' | 'fault' | 'maybe'>): Line => ({
    ...part,
    ...more,
    value: JSON.stringify(part.value),
  });
  const isKept = (id: string) => id.startsWith('kept') || isHeld(id, organization);
  const refusedMove = (id: string, properties: Record<string, unknown>, isMerge: boolean) =>
    isHeld(id, organization) && leavesProject(properties, isMerge) ? { fault: 'project_id' } : {};
  const wholeIds = fc.constantFrom(...IDS.kept, ...IDS.changing, ...IDS.held, ...(mayStore ? [] : IDS.absent));
  const whole = fc
    .tuple(own, wholeIds, callProperties)
    .map(([head, id, { value, ...part }]) =>
      line(
        { ...refusedMove(id, value, false), ...part, value: withFirst({ type: 'call', ...head, id }, value) },
        { type: 'call' },
      ),
    );
  const merges = fc
    .tuple(own, fc.constantFrom(...IDS.kept, ...IDS.changing, ...IDS.absent, ...IDS.held), callProperties)
    .map(([head, id, { value, fault = refusedMove(id, value, true).fault }]) => {
      const merged = withFirst({ type: 'call', ...head, id, merge: true }, value);
      // The record's absence may be found first.
      const field = isKept(id) ? fault : '?';
      if (fault !== undefined) return line(bad(merged, field!), { type: 'call' });
      return line(isKept(id) ? good(merged) : stored(id, merged, mayStore), { type: 'call' });
    });
  const deletions = fc
    .tuple(fc.constantFrom('call', 'entity'), own, fc.constantFrom(...IDS.changing, ...IDS.absent, ...IDS.held))
    .map(([type, head, id]) => {
      const record = { type, ...head, id: idOf(type, id), deleted: true };
      const isRefused = type === 'call' && isHeld(id, organization);
      return line(isRefused ? bad(record, 'deleted') : good(record), { type, deletes: true });
    });
  const entities = fc
    .tuple(own, fc.constantFrom(...IDS.kept, ...IDS.changing, ...IDS.absent), fc.boolean(), someText)
    .map(([head, id, isMerge, name]) => {
      const record = { type: 'entity', ...head, id: idOf('entity', id), name, ...(isMerge ? { merge: true } : { project_id: PROJECTS[0] }) };
      if (!isMerge && id.startsWith('absent')) return line(bad({ ...record, project_id: null }, 'project_id'), { type: 'entity' });
      return line(isMerge ? stored(id, record, mayStore) : good(record), { type: 'entity' });
    }); // prettier-ignore
  const others = fc.tuple(own, someText, fc.constantFrom(...OTHERS)).map(([head, name, [record, field]]) =>
    line(field === undefined ? good({ ...record, ...head, name }) : bad({ ...record, ...head, name }, field), {
      type: record.type,
    }),
  );
  const wrong = fc.constantFrom(...wrongLines(organization, other));
  return fc.oneof(
    { arbitrary: whole, weight: 5 },
    { arbitrary: merges, weight: 5 },
    { arbitrary: deletions, weight: 2 },
    { arbitrary: entities, weight: 2 },
    { arbitrary: others, weight: 2 },
    { arbitrary: wrong, weight: 3 },
  ); // prettier-ignore
}

/** Keeps `__proto__` of the properties. */
function withFirst(first: object, properties: object): object {
  return Object.defineProperties({ ...first }, Object.getOwnPropertyDescriptors(properties));
}

function idOf(type: string, id: string): string {
  return type === 'entity' ? entityIdOf(id) : id;
}

/** A merge, which needs a stored record. @param mayStore false: an earlier line may have the record, although nothing is stored */
function stored<T>(id: string, value: T, mayStore: boolean): Part<T> {
  if (id.startsWith('kept')) return good(value);
  return id.startsWith('absent') && mayStore ? bad(value, 'id') : open(value, 'id');
}

/** Projects, offices and users. A generated name is added. */
const OTHERS: [record: { type: string } & Record<string, unknown>, field: string | undefined][] = [
  [{ type: 'project', id: PROJECTS[1] }, undefined],
  [{ type: 'project', id: PROJECTS[1], members: [{ email: EMAILS.ann, role: 'lead' }], created_by: EMAILS.bob }, undefined],
  [{ type: 'project', id: PROJECTS[1], merge: true, summary: MARK }, undefined],
  [{ type: 'project', id: '99999999-2222-4333-8444-555555555555', merge: true }, 'id'],
  [{ type: 'project', id: PROJECTS[1], members: [{ email: EMAILS.only }] }, '?'],
  [{ type: 'project', id: PROJECTS[1], billing_office_name: MARK }, 'billing_office_name'],
  [{ type: 'project', id: 'x' }, 'id'],
  [{ type: 'user', email: EMAILS.bob }, undefined],
  [{ type: 'user', email: EMAILS.bob, password: 'correct horse battery staple 7' }, 'password'],
  [{ type: 'user', email: EMAILS.bob, disabled: true }, 'disabled'],
  [{ type: 'user', email: MARK }, 'email'],
  [{ type: 'billing_office', is_default: false }, undefined],
  [{ type: 'billing_office', is_default: 'yes' }, 'is_default'],
];

function wrongLines(organization: string, other: string): Line[] {
  const call = { type: 'call', organization, id: IDS.kept[0] };
  const refusals: [record: object, field: string, routed?: string][] = [
    [{}, 'type'],
    [{ type: 'Call', id: 'a' }, 'type'],
    [{ type: ['call'], id: 'a' }, 'type'],
    [{ type: '__proto__', id: 'a' }, 'type'],
    [{ type: 'organization', id: organization, write_surface: true }, 'type'],
    [{ ...call, organization: other }, 'organization'],
    [{ ...call, organization: other, deleted: true }, 'organization'],
    [{ ...call, organization: null }, 'organization'],
    [{ ...call, organization: [organization] }, 'organization'],
    [{ type: 'call' }, 'id', 'call'],
    [{ ...call, id: '' }, 'id', 'call'],
    [{ ...call, id: 'a b' }, 'id', 'call'],
    [{ ...call, id: 'a'.repeat(129) }, 'id', 'call'],
    [{ ...call, id: 7 }, 'id', 'call'],
    [{ ...call, merge: 'yes' }, 'merge', 'call'],
    [{ ...call, merge: true, deleted: true }, 'deleted', 'call'],
    [{ ...call, deleted: 'yes' }, '?', 'call'],
    [{ ...call, deleted: true, summary: MARK }, '?', 'call'],
    [{ type: 'entity', id: entityIdOf(IDS.kept[0]!) }, 'project_id', 'entity'],
  ];
  const deletions = [
    { type: 'project', organization, id: PROJECTS[0], deleted: true },
    { type: 'user', organization, email: EMAILS.ann, deleted: true },
  ].map((record): Line => ({ ...bad(JSON.stringify(record), '?'), type: record.type, deletes: true }));
  return [
    ...refusals.map(([record, field, type]): Line => ({
      ...bad(JSON.stringify(record), field),
      ...(type !== undefined && { type }),
      ...('deleted' in record && record.deleted === true && type !== undefined && { deletes: true }),
    })),
    ...deletions,
    ...NO_OBJECTS.map((value): Line => bad(value, '')),
  ];
}
