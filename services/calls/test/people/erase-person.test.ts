import { describe, expect, test } from 'vitest';
import { run } from '../../src/domain/person/find-in-line.ts';
import { digestPerson, type NamedPerson, type Person } from '../../src/domain/person/person.ts';

const SALT = '00112233445566778899aabbccddeeff';
const EVA: NamedPerson = { name: 'Eva Muster' };

function find(line: object, person: Person) {
  const { fields, mentions, erased } = run({ line: Buffer.from(JSON.stringify(line)), person });
  return { fields, mentions, erased: erased === null ? null : (JSON.parse(Buffer.from(erased).toString()) as object) };
}

/** A call that has the person in every named field. */
const WHOLE = {
  type: 'call',
  id: 'call-1',
  expert: { name: 'EVA MUSTER', job_title: 'CFO', organization: 'Initech', country: 'Chile', bio: 'Two companies.' },
  anonymized_name: 'Expert 7',
  participants: [
    { name: 'Eva Muster', role: 'expert', email: 'eva@initech.example' },
    { name: "Eva's phone", email: 'EVA@initech.example' },
    { name: 'Ann', role: 'host', email: 'ann@crs.example' },
  ],
  transcript: [
    { speaker: 'Dr. Eva Muster', start_seconds: 1, text: 'Good morning.\nEva Muster: to go on.' },
    { speaker: 'Ann', text: 'Hello.' },
    { text: 'Nobody.' },
  ],
  redacted_transcript: 'Ann: Hello.\n[00:05] Eva Muster (Initech): Hi.\n<v Eva Muster>Yes.',
};
const FIELDS = [
  ...['expert.name', 'expert.job_title', 'expert.organization', 'expert.country', 'expert.bio', 'anonymized_name'],
  ...['participants[].name', 'participants[].email', 'transcript[].speaker', 'transcript[].text', 'redacted_transcript'],
];
const ERASED = {
  type: 'call',
  id: 'call-1',
  participants: [{ role: 'expert' }, { name: "Eva's phone" }, { name: 'Ann', role: 'host', email: 'ann@crs.example' }],
  transcript: [
    { speaker: '[erased]', start_seconds: 1, text: 'Good morning.\n[erased]: to go on.' },
    { speaker: 'Ann', text: 'Hello.' },
    { text: 'Nobody.' },
  ],
  redacted_transcript: 'Ann: Hello.\n[00:05] [erased] (Initech): Hi.\n<v [erased]>Yes.',
};

describe('erasing a person from a call', () => {
  test.each<[string, NamedPerson]>([
    ['a name', EVA],
    ['a name in another case, with a title', { name: 'dr. eva MUSTER' }],
    ['a name and an employer', { ...EVA, employer: 'INITECH' }],
  ])('by %s empties every named field, and afterwards finds nothing', (_, person) => {
    expect(find(WHOLE, person)).toEqual({ fields: FIELDS, mentions: [], erased: ERASED });
    expect(find(ERASED, person)).toEqual({ fields: [], mentions: [], erased: null });
    expect(find(WHOLE, digestPerson(person, SALT))).toEqual({ fields: FIELDS, mentions: [], erased: ERASED });
  });

  test('by an e-mail empties all that has the e-mail, or the name of the participant who has it', () => {
    const person = { email: 'Eva@Initech.example' };
    const { participants } = ERASED;
    const erased = { ...ERASED, participants: [participants[0], {}, participants[2]] };
    expect(find(WHOLE, person)).toEqual({ fields: FIELDS, mentions: [], erased });
    expect(find(WHOLE, digestPerson(person, SALT))).toEqual({ fields: FIELDS, mentions: [], erased });
    const { participants: _, ...others } = WHOLE;
    expect(find(others, person)).toEqual({ fields: [], mentions: [], erased: null });
  });

  test.each<[string, object]>([
    ['an expert of another employer', { expert: { name: 'Eva Muster', organization: 'Contoso' } }],
    ['an expert without an employer', { expert: { name: 'Eva Muster' } }],
  ])('leaves %s alone if the person is named with an employer, in all fields of the call', (_, line) => {
    const whole = { ...line, transcript: 'Eva Muster: Hi.', summary: 'Eva Muster said so.' };
    expect(find(whole, { ...EVA, employer: 'Initech' })).toEqual({ fields: [], mentions: [], erased: null });
    expect(find(whole, EVA).erased).not.toBeNull();
  });

  test.each(['Eva', 'Eva Muster-Brown', 'Eva Mustermann', 'Ann & Eva Muster'])('leaves %j alone', (name) => {
    const line = {
      expert: { name },
      participants: [{ name, email: 'x@crs.example' }],
      transcript: [{ speaker: name, text: 'Hi.' }],
    };
    expect(find(line, EVA)).toMatchObject({ fields: [], erased: null });
    expect(find(line, digestPerson(EVA, SALT)).fields).toEqual([]);
  });

  test.each(['Muster, Eva', 'Eva Muster (Initech), CFO', '**Eva Muster**', '<v Eva Muster>', '[00:05] Eva\u00a0Muster'])(
    'recognizes %j by the digests of the name',
    (name) => {
      const line = { participants: [{ name }], transcript: [{ speaker: name, text: 'Hi.' }] };
      const person = digestPerson(EVA, SALT);
      expect(find(line, person)).toEqual(find(line, EVA));
      expect(find(line, person).fields).toEqual(['participants[].name', 'transcript[].speaker']);
    },
  );
});

describe('mentions', () => {
  const TEXTS = {
    expert: { bio: 'x', job_title: 'x' },
    ...{ segment: 'x', source: 'x', summary: 'x', ktas: 'x' },
    participants: [{ role: 'x' }],
    notes: [{ email: 'ann@crs.example', text: 'x' }],
    qa_blocks: [{ id: '1', question: 'x', answer: 'x', section: 'x' }],
    transcript: [{ speaker: 'Ann', text: 'x' }],
    redacted_transcript: 'x',
  };
  const PATHS = [
    ...['expert.bio', 'expert.job_title', 'segment', 'source', 'summary', 'ktas', 'participants[].role', 'notes[].text'],
    ...['qa_blocks[].question', 'qa_blocks[].answer', 'qa_blocks[].section', 'transcript[].text', 'redacted_transcript'],
  ];
  const withText = (text: string): object => JSON.parse(JSON.stringify(TEXTS).replaceAll('"x"', JSON.stringify(text)));

  test.each<[string, string, NamedPerson]>([
    ['a name', 'As EVA\n  Muster’s team knows.', EVA],
    ['an e-mail', 'Write to Eva@Initech.example!', { email: 'eva@initech.example' }],
  ])('are the texts that contain %s, which no erasure rewrites', (_, text, person) => {
    expect(find(withText(text), person)).toEqual({ fields: [], mentions: PATHS, erased: null });
    expect(find(withText('Eva knows the muster@initech.example.'), person).mentions).toEqual([]);
  });

  test('of a call that has the person are those that stay after the erasure', () => {
    const { fields, mentions } = find({ ...WHOLE, summary: 'Eva Muster agrees.' }, EVA);
    expect({ fields, mentions }).toEqual({ fields: FIELDS, mentions: ['summary'] });
  });

  test.each([
    ['Eva Muster PhD', ['expert.name', 'participants[].name', 'transcript[].speaker']],
    ['Ann & Eva Muster', ['expert.name', 'participants[].name', 'transcript[].speaker']],
    ['Eva Muster-Brown', []],
  ])('are names that contain the name as a whole: %j', (name, mentions) => {
    const line = { expert: { name }, participants: [{ name }], transcript: [{ speaker: name, text: 'Hi.' }] };
    expect(find(line, EVA).mentions).toEqual(mentions);
  });

  test.each([
    ['Ann', 'Ann’s plan'],
    ['Ann', '(ann)'],
    ['Ann', 'annual, then Ann'],
    ['王伟', '我见过王伟了'],
    ['E (Acme)', 'by e (acme).'],
  ])('of %j are found in %j', (name, summary) => {
    expect(find({ summary }, { name }).mentions).toEqual(['summary']);
  });

  test.each([
    ['Ann', 'annual planning'],
    ['Ann', 'Joann'],
    ['Ann', 'Ann-Marie and Mary-Ann'],
    ['Ann', 'Ann7'],
    ['E (Acme)', 'e poi'],
  ])('of %j are not found in %j', (name, summary) => {
    expect(find({ summary }, { name }).mentions).toEqual([]);
  });

  test.each([
    ['Write to ann@acme.example.', true],
    ['<ann@acme.example>,', true],
    ['mailto:ANN@acme.example?x', true],
    ['joann@acme.example', false],
    ['jo.ann@acme.example', false],
    ['jo+ann@acme.example', false],
    ['ann@acme.example.au', false],
    ['ann@acme.example-mail.com', false],
  ])('of an e-mail in %j: %j', (text, isFound) => {
    const line = { summary: text, transcript: [{ speaker: text, text: 'Hi.' }] };
    expect(find(line, { email: 'ann@acme.example' }).mentions).toEqual(isFound ? ['summary', 'transcript[].speaker'] : []);
  });

  test('by an e-mail include the name of the participant who has it', () => {
    const line = { participants: [{ name: 'Eva Muster', email: 'eva@initech.example' }], ktas: 'Eva Muster agrees.' };
    expect(find(line, { email: 'eva@initech.example' }).mentions).toEqual(['ktas']);
  });
});

test('a person with a thousand names is erased from a long transcript in bounded time', { timeout: 60_000 }, () => {
  const participants = Array.from({ length: 1_000 }, (_, i) => ({
    name: `Eva ${'x, '.repeat(i % 50)}${i}`,
    email: 'eva@initech.example',
  }));
  const transcript = 'Eva 0: Hi.\nAnn: Hello.\n'.repeat(40_000);
  const started = process.cpuUsage();
  const { erased } = find({ participants, transcript }, { email: 'eva@initech.example' });
  expect((erased as { transcript: string }).transcript).toBe('[erased]: Hi.\nAnn: Hello.\n'.repeat(40_000));
  expect(process.cpuUsage(started).user / 1_000).toBeLessThan(10_000);
});

test('a long name is looked for in linear time', { timeout: 60_000 }, () => {
  const started = process.cpuUsage();
  expect(find({ summary: 'a'.repeat(4_000_000) }, { name: 'a'.repeat(10_000) }).mentions).toEqual([]);
  expect(process.cpuUsage(started).user / 1_000).toBeLessThan(5_000);
});
