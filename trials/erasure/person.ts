/** The calls of the trial: one person in every named field of some and in the running text of others, and what an erasure must leave of each. */

export const NAME = 'Zyxa Canary';
export const EMAIL = 'zyxa@canary.example';
/** A name that only the e-mail connects with the person. */
const NICKNAME = 'Zyxie';
/** What occurs in each value of the person. */
export const CANARY = /zyx|canary/gi;

export const COLLEAGUE = 'ann@crs.example';
/** So that an erasure takes several steps. */
const FILLER = 'More was said, about somebody else. '.repeat(300);

type Line = Record<string, unknown>;

export interface TrialCall {
  id: string;
  kind: 'named' | 'text' | 'both' | 'bystander';
  before: Line;
  /** The line without the person's named fields. */
  after: Line;
  /** Whether only its participant's e-mail leads to a part of its fields. */
  hasNickname: boolean;
  /** The path of the running text with the person, and by what `crs person find` finds it. */
  mention: { path: string; by: 'name' | 'email' } | undefined;
}

/** The kinds of each ten calls with the person in named fields, and of four others. */
const KINDS = [...Array<'named'>(10).fill('named'), 'text', 'both', 'text', 'bystander'] as const;

/** Generates calls, as many of them with the person in every named field as `named` says. */
export function trialCalls(named: number): TrialCall[] {
  const calls: TrialCall[] = [];
  for (let left = named; left > 0;) {
    const n = calls.length;
    const kind = KINDS[n % KINDS.length]!;
    if (kind === 'named') left--;
    calls.push(trialCall(n, kind));
  }
  for (const kind of ['text', 'both', 'bystander'] as const) calls.push(trialCall(calls.length, kind));
  return calls;
}

function trialCall(n: number, kind: TrialCall['kind']): TrialCall {
  const id = `call-${String(n).padStart(6, '0')}`;
  const hasNickname = n % 3 === 1 && (kind === 'named' || kind === 'both');
  const common = { created_at: new Date(Date.UTC(2025, 2, 1, 0, n)).toISOString(), call_type: 'interview', rating: 4 };
  const [before, after]: [Line, Line] =
    kind === 'named' || kind === 'both'
      ? [namedFields(n, hasNickname ? NICKNAME : NAME), erasedFields(n)]
      : [bystander(), bystander()];
  const [path, by, text] = (kind === 'text' ? TEXTS : BESIDE_FIELDS)[Math.floor(n / KINDS.length) % BESIDE_FIELDS.length]!;
  const hasText = kind === 'text' || kind === 'both';
  const line = (fields: Line) => ({ id, ...common, ...fields, ...(hasText && text) });
  return { id, kind, before: line(before), after: line(after), hasNickname, mention: hasText ? { path, by } : undefined };
}

const ERASED = '[erased]';
const HOST = { name: 'Ann', role: 'host' };

function namedFields(n: number, participant: string): Line {
  return {
    expert: {
      name: NAME,
      job_title: 'Zyxa of Canary',
      organization: 'Canary Works',
      country: 'Canary Islands',
      bio: 'Zyxa founded Canary.',
    },
    anonymized_name: 'Canary 7',
    participants: [HOST, { name: participant, role: 'guest', email: EMAIL }],
    ...transcripts(n, NAME.toUpperCase(), participant),
  };
}

function erasedFields(n: number): Line {
  return { participants: [HOST, { role: 'guest' }], ...transcripts(n, ERASED, ERASED) };
}

/** Returns one transcript as text and one as segments, each with two speakers' labels, alternately verbatim and redacted. */
function transcripts(n: number, first: string, second: string): Line {
  const text = `Ann: Hello.\n${first}: Hi.\n[00:05] ${second}: ${FILLER}`;
  const segments = [
    { speaker: first, start_seconds: 1, text: 'Hi.' },
    { speaker: 'Ann', start_seconds: 2, text: `Hello.\n${second}: Hi.` },
    { speaker: second, start_seconds: 3, text: 'Yes.' },
  ];
  const [transcript, redacted_transcript] = n % 2 === 0 ? [text, segments] : [segments, text];
  return { transcript, redacted_transcript, anonymity_status: 'complete' };
}

function bystander(): Line {
  return {
    expert: { name: 'Bo Other', organization: 'Initech' },
    participants: [HOST, { name: 'Bo Other', email: 'bo@initech.example' }],
    transcript: `Bo Other: ${FILLER}`,
  };
}

const BLOCK = { id: '00000000-0000-4000-8000-000000000001', question: 'Who?', answer: 'Nobody.' };
const SAID = `As ${NAME} says.`;
const WRITE = `Write to ${EMAIL}.`;

/** Running texts that fit beside the named fields. */
const BESIDE_FIELDS: [path: string, by: 'name' | 'email', line: Line][] = [
  ['summary', 'name', { summary: SAID }],
  ['ktas', 'email', { ktas: WRITE }],
  ['notes[].text', 'name', { notes: [{ email: COLLEAGUE, text: SAID }] }],
  ['qa_blocks[].question', 'email', { qa_blocks: [{ ...BLOCK, question: WRITE }] }],
  ['qa_blocks[].answer', 'name', { qa_blocks: [{ ...BLOCK, answer: SAID }] }],
  ['segment', 'name', { segment: SAID }],
  ['source', 'email', { source: WRITE }],
];
/** As many, with transcripts. */
const TEXTS: typeof BESIDE_FIELDS = [
  ['transcript', 'name', { transcript: `Ann: I met ${NAME} there.` }],
  ['transcript[].text', 'email', { transcript: [{ speaker: 'Ann', start_seconds: 1, text: WRITE }] }],
  ['redacted_transcript', 'name', { redacted_transcript: `Ann: I met ${NAME} there.`, anonymity_status: 'complete' }],
  ...BESIDE_FIELDS.slice(0, 4),
];
