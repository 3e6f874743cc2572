import { ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import { fold } from '@crs/kit/text';
import { createToken } from '@crs/testing/credentials';
import { toolClient } from '@crs/testing/mcp';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { callLine, tenantRecords } from './_records.ts';

/** A person whose name and e-mail address occur nowhere else in a call. */
interface Person {
  first: string;
  last: string;
  email: string;
}

const WITHOUT_NAME = { allowed_fields: ALLOWED_FIELDS.filter((field) => field !== 'interviewee.name') };
const ANONYMIZED = { anonymize_interviewees: true };
const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
const SETTINGS = new Map<string, object>([
  [ACME, ANONYMIZED],
  [GLOBEX, ANONYMIZED],
  [tenant('initech'), WITHOUT_NAME],
  [tenant('umbrella'), WITHOUT_NAME],
]);
const ORGANIZATIONS = [...SETTINGS.keys()];
const CREATED = '2025-03-01T10:00:00.000Z';
const RANGE = 'start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z';

let world: World;
const keys = new Map<string, string>();

beforeAll(async () => {
  world = await sharedWorld();
  await world.load([...SETTINGS].flatMap(([id, settings]) => tenantRecords(id, settings)));
  for (const id of ORGANIZATIONS) keys.set(id, await world.createKey(id));
});

/** Writes a person's name in one of many spellings: white space, order of the names, titles, letter case and suffixes vary. */
type Spelling = (person: Person) => string;

const space = fc.constantFrom(' ', '\u00a0', '  ', '\u2009', '\u3000', ' \u200b', '\t');
const letters = fc.constantFrom<(text: string) => string>(
  (text) => text,
  (text) => text.toUpperCase(),
  (text) => text.toLowerCase(),
  (text) => text.normalize('NFD'),
  (text) => `${text.slice(0, 3)}\u200b${text.slice(3)}\u2060`,
);
const order = fc.constantFrom<(first: string, last: string) => string>(
  (first, last) => `${first} ${last}`,
  (first, last) => `${last}, ${first}`,
  (first, last) => `${last}, Dr. ${first}`,
  (first, last) => `Dr. ${first} ${last}`,
  (first, last) => `Frau Prof. Dr. ${first} ${last}`,
);
const suffix = fc.constantFrom('', ' (Contoso)', ', CFO', ' (Contoso), CFO', ' [external]');
const spelling: fc.Arbitrary<Spelling> = fc.record({ space, letters, order, suffix }).map(
  (by) =>
    ({ first, last }) =>
      by.letters(by.order(first, last).replaceAll(' ', by.space)) + by.suffix,
);

const prefix = fc.constantFrom(
  ...['', ' ', '[00:00:05] ', '00:00:05 ', '(00:05) ', '00:05 - ', '- ', '* ', '1. ', '2) ', '> ', '\u200b', '- [01:02:03] '],
);
/** A speaker label at the start of a line, with everything before the spoken words. */
const label: fc.Arbitrary<Spelling> = fc.tuple(prefix, spelling, fc.nat(4)).map(([before, spell, form]) => (person) => {
  const name = spell(person);
  return before + [`${name}: `, `**${name}:** `, `**${name}**: `, `<v ${name}>`, `<v.loud ${name}>`][form]!;
});

/** The ways in which a call names its interviewee. */
interface Mentions {
  participants: Spelling[];
  speakers: Spelling[];
  labels: Spelling[];
}

const mentions: fc.Arbitrary<Mentions> = fc.record({
  participants: fc.array(spelling, { minLength: 1, maxLength: 8 }),
  speakers: fc.array(fc.oneof(spelling, label), { minLength: 1, maxLength: 8 }),
  labels: fc.array(label, { minLength: 1, maxLength: 8 }),
});

const OTHERS = [
  { name: 'Evangelinus Brown', role: 'host', email: 'host@crs.example' },
  { name: 'Guest', role: null, email: null },
];

function call(organization: string, id: string, { first, last, email }: Person, mentioned: Mentions) {
  const person = { first, last, email };
  const text = mentioned.labels.map((spell, i) => `${spell(person)}line ${i}\nAnn: yes.`).join('\n');
  const segments = mentioned.speakers.map((spell, i) => ({
    speaker: spell(person),
    start_seconds: i,
    text: `said ${i}\n${text}`,
  }));
  const participants = mentioned.participants.map((spell) => ({ name: spell(person), role: 'expert', email }));
  return callLine(organization, id, {
    anonymity_status: 'complete',
    created_at: CREATED,
    conducted_by: 'ann@crs.example',
    expert: { name: `${first} ${last}`, organization: 'Contoso' },
    participants: [OTHERS[0], ...participants, { name: "Somebody's phone", role: null, email: email.toUpperCase() }, OTHERS[1]],
    transcript: segments,
    redacted_transcript: text,
  });
}

const ZELDA: Person = { first: 'Zelda Wilhelmína', last: 'Quackenbush', email: 'zq@contoso.example' };
const OTTOKAR: Person = { first: 'Ottokar Łukasz', last: 'Überreuther', email: 'oü@fabrikam.example' };

/** The responses of every REST endpoint that shows the call. */
async function responsesFor(organization: string, id: string) {
  const key = keys.get(organization);
  const paths = [`/v1/calls/${id}`, `/v1/calls?${RANGE}&expand=detail`, '/v1/changes?expand=detail', `/v1/calls?${RANGE}`];
  const responses = await Promise.all(paths.map((path) => world.rest(path, { key })));
  for (const { status } of responses) expect(status).toBe(200);
  // A cursor is random text, which may contain a short name by chance.
  return { detail: responses[0]!, texts: responses.map(({ text }) => text.replace(/"next_cursor":"[^"]*"/, '')) };
}

/** Removes white space, format characters and case, so that all spellings of a name look alike. */
const normalized = (text: string) => fold(text.replaceAll(/[\p{Cf}\s]/gu, ''));

describe("an interviewee's name that is hidden or anonymized", () => {
  it('appears in no response, however it is spelled, and neither does the e-mail address', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(mentions, async (mentioned) => {
        const people: [string, Person][] = ORGANIZATIONS.map((id, i) => [id, i % 2 === 0 ? ZELDA : OTTOKAR]);
        await world.load(people.map(([organization, person]) => call(organization, 'call_1', person, mentioned)));
        const details: string[] = [];
        for (const [organization] of people) {
          const { detail, texts } = await responsesFor(organization, 'call_1');
          for (const { first, last, email } of [ZELDA, OTTOKAR]) {
            for (const text of texts) {
              for (const word of [...first.split(' '), last, email]) expect(normalized(text)).not.toContain(normalized(word));
            }
          }
          const { participants, transcripts } = detail.json;
          expect(participants[0]).toEqual(OTHERS[0]);
          expect(participants.at(-1)).toEqual(OTHERS[1]);
          expect(transcripts[0].segments).toHaveLength(mentioned.speakers.length);
          for (const i of mentioned.labels.keys()) expect(transcripts[1].text).toContain(`line ${i}\nAnn: yes.`);
          details.push(detail.text.replace(/"updated_at":"[^"]*"/, ''));
        }
        // Otherwise a changed ETag would reveal that another person was interviewed.
        expect(details[2]).toBe(details[3]);
      }),
      { numRuns: 12 },
    );
  });

  it('is shown as recorded to users of the tools', async () => {
    const plain: Mentions = {
      participants: [({ first, last }) => `Dr. ${first} ${last}`],
      speakers: [({ first, last }) => `${last}, ${first}`],
      labels: [({ first, last }) => `[00:00:05] **${first} ${last}:** `],
    };
    await world.load([call(ACME, 'call_2', ZELDA, plain), call(GLOBEX, 'call_2', OTTOKAR, plain)]);
    const user = toolClient(world.stack.addresses.tools, await createToken(world.operator, ACME, 'ann@crs.example'));
    const { value } = await user('get_call', { call_id: 'call_2', include_transcript: true });
    expect(value.expert.name).toBe('Zelda Wilhelmína Quackenbush');
    expect(value.transcript).toBe(
      'Quackenbush, Zelda Wilhelmína: said 0\n[00:00:05] **Zelda Wilhelmína Quackenbush:** line 0\nAnn: yes.',
    );
  });
});
