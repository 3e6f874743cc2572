import { ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import { fold } from '@crs/kit/text';
import { describe, expect, test } from 'vitest';
import { OPEN_VIEW, sampleCall, SECRET } from '../../../test/_sample.ts';
import { fieldMaskOf } from '../view.ts';
import { renderDetail, type DetailRow, type DetailView } from './index.ts';

const ANONYMIZING: DetailView = { ...OPEN_VIEW, anonymizeWith: SECRET };
const NOT_ENABLED: DetailView = {
  ...OPEN_VIEW,
  mask: fieldMaskOf(ALLOWED_FIELDS.filter((field) => field !== 'interviewee.name')),
};

const json = (value: unknown) => JSON.stringify(value);
const textOf = (call: DetailRow, view: DetailView) => [...renderDetail(call, view)].join('');
const detailOf = (call: DetailRow, view: DetailView) => JSON.parse(textOf(call, view));

describe("the interviewee's name", () => {
  test('is shown as recorded if it is enabled and not anonymized', () => {
    const text = textOf(sampleCall({ anonymizedName: 'Expert 7' }), OPEN_VIEW);
    expect(text).toContain('EVA MUSTER: Good morning.');
    expect(text).not.toContain('Expert 7');
  });

  test.each<[string, string | null, DetailView, string | undefined, string]>([
    ['anonymized', 'Expert 7', ANONYMIZING, 'Expert 7', 'Expert 7'],
    ['not enabled', 'Expert 7', NOT_ENABLED, undefined, 'Expert 7'],
    ['not enabled, without an alias', null, NOT_ENABLED, undefined, 'Interviewee'],
  ])('is replaced alike in participants, speakers and labels if it is %s', (_, anonymizedName, view, expectedName, elsewhere) => {
    const call = detailOf(sampleCall({ anonymizedName }), view);
    expect(call.interviewee.name).toBe(expectedName);
    expect(call.participants.map(({ name }: { name: unknown }) => name)).toEqual(['Ann', elsewhere, null]);
    expect(call.transcripts[0].text).toBe(
      `Ann: Hello.\n${elsewhere}: Good morning.\n${elsewhere}: to go on.\n${elsewhere}: off the record.`,
    );
    expect(call.transcripts[0].segments.map(({ speaker }: { speaker: unknown }) => speaker)).toEqual(['Ann', elsewhere, null]);
    expect(call.transcripts[1].text).toBe(`Ann: Hello.\n${elsewhere}: Good morning.`);
  });

  const names = [
    'Eva Muster',
    'Zoë İpek',
    'Zoe\u0308',
    'Dr: Eva',
    'E.v+a (M$)|[1]\\',
    '  Eva  ',
    'ΟΔΥΣΣΕΥΣ',
    '李',
    'ǅ \u{10400}',
  ];
  const views: [string, DetailView][] = [
    ['not enabled', NOT_ENABLED],
    ['anonymized', ANONYMIZING],
    ['not enabled and anonymized', { ...NOT_ENABLED, anonymizeWith: SECRET }],
  ];
  const cases = names.flatMap((name) => views.map(([how, view]): [string, string, DetailView] => [name, how, view]));

  test.each(cases)('%j leaves no trace if it is %s', (name, _how, view) => {
    const spellings = [name, name.normalize('NFD'), name.normalize('NFC'), name.toUpperCase(), name.toLowerCase(), ` ${name}\t`];
    const same = spellings.filter((spelling) => fold(spelling.trim()) === fold(name.trim()));
    const segments = same.flatMap((it) => [
      { speaker: it, start_seconds: 1, text: `said\n${it}: more\r\n${it}:\u2028${it} : end` },
      { speaker: `${it}:`, start_seconds: 1, text: `${it}: twice` },
      { speaker: null, start_seconds: 1, text: `${it}: as text` },
    ]);
    const text = segments.map((segment) => segment.text).join('\n');
    const call = sampleCall({
      name,
      participants: same.map((it) => ({ name: it, role: null, email: null })),
      transcripts: [
        { kind: 'verbatim', content: segments },
        { kind: 'redacted', content: text },
      ],
    });
    const seen = detailOf(call, view);
    const everything = strings(seen).map(fold).join('\n');
    expect(everything).toContain(fold('as text'));
    expect(everything).not.toContain(fold(name.trim()));
    expect(fold(json(seen))).not.toContain(fold(json(name.trim()).slice(1, -1)));
  });

  test('stays in running text, such as answers and the summary', () => {
    const answers = ['Eva Muster: left.', 'I am Eva Muster.'];
    const qaBlocks = answers.map((answer) => ({ id: '', question: null, answer, section: null }));
    const call = detailOf(sampleCall({ qaBlocks, summary: 'Eva Muster: CFO' }), ANONYMIZING);
    expect(call.summary).toBe('Eva Muster: CFO');
    expect(call.transcripts[2].text).toBe('A: Eva Muster: left.\n\nA: I am Eva Muster.');
  });

  test('is replaced without changing the call object', () => {
    const call = sampleCall();
    textOf(call, ANONYMIZING);
    expect(call).toEqual(sampleCall());
  });
});

/** All strings in a value, however deeply nested. */
function strings(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(strings) : [];
}
