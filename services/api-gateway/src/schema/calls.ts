/** Calls in responses. A field that an organization isn't enabled for is absent, so its property is optional. */
import { z } from 'zod';
import { components, namedObject, nullableText, pagination, callId, timestamp, uuid } from './common.ts';

const gated = (field: string) => `Absent where \`${field}\` is not among the organization's \`allowed_fields\`.`;

const transcriptSegment = namedObject('TranscriptSegment', 'The words of one speaker, up to the next speaker.', {
  speaker: nullableText('Null where not recorded.'),
  start_seconds: z
    .number()
    .min(0)
    .nullable()
    .meta({ description: 'Seconds from the start of the recording. Null where not recorded.', examples: [12.4] }),
  text: z.string().describe('The words.'),
});

const transcriptEntry = namedObject('TranscriptEntry', 'One transcript of the call.', {
  kind: z
    .enum(['verbatim', 'redacted', 'clean'])
    .describe(
      '`verbatim`: word by word. `redacted`: with identifying details taken out, there once `anonymity_status` is `complete`. `clean`: the question-and-answer blocks as text; it also needs `qa_blocks` enabled.',
    ),
  language: nullableText('Language of the text. Null where not recorded.', 'en'),
  text: z
    .string()
    .describe(
      'The whole text. Of a segmented transcript, a line `speaker: text` for each segment; of `clean`, `Q: ...` and `A: ...` lines with an empty line between blocks.',
    ),
  segments: z
    .array(transcriptSegment)
    .describe('The segments, in order. Empty where the transcript was recorded as plain text, and of `clean`.'),
});

/** Properties of both list items and details. */
const shared = {
  call_id: callId('Identifies the call within the organization. Opaque.'),
  duration_minutes: z
    .number()
    .min(0)
    .nullable()
    .meta({ description: 'Minutes. Null where unknown.', examples: [54] }),
  created_at: timestamp('When the record was created, which is not when the call took place.'),
  updated_at: timestamp('When anything that the call detail can show last changed.'),
  date: timestamp('When the call took place, or is to take place. Null where unknown.').nullable(),
  call_type: z
    .enum(['interview', 'meeting'])
    .describe('`interview`: a call with an expert. `meeting`: an internal or recorded meeting.'),
  call_status: z
    .enum(['candidate', 'reached_out', 'scheduled', 'not_scheduled', 'not_interested', 'done', 'rescheduled', 'canceled'])
    .nullable()
    .describe('Where scheduling stands; `done` means that the call took place. Null where not recorded.'),
  project_id: uuid('The project it belongs to. Null where it belongs to none.').nullable(),
  segment: nullableText(
    `The project's label for this type of interviewee. Null where it has none. ${gated('segment')}`,
  ).optional(),
  source: nullableText(
    `An expert network's name, or the label of an import. Null where not recorded. ${gated('source')}`,
  ).optional(),
};

const callListItem = namedObject('CallListItem', 'A call in a list: no names, no e-mail addresses.', {
  ...shared,
  has_transcript: z
    .boolean()
    .describe(
      'A verbatim transcript is recorded. Always false where neither `transcripts.verbatim` nor `transcripts.redacted` is among the `allowed_fields`.',
    ),
});

const callList = namedObject('CallList', 'A page of calls.', {
  data: z.array(callListItem).describe('The calls of this page, newest first. Empty past the last page.'),
  pagination,
});

const interviewee = namedObject(
  'Interviewee',
  'The person interviewed. Always an object; empty where none of its fields is enabled.',
  {
    name: nullableText(
      `As recorded, or anonymized where the organization asks for that. Null where not recorded. ${gated('interviewee.name')}`,
    ).optional(),
    job_title: nullableText(`Null where not recorded. ${gated('interviewee.job_title')}`).optional(),
    organization: nullableText(
      `The interviewee's employer. Null where not recorded. ${gated('interviewee.organization')}`,
    ).optional(),
    country: nullableText(`Null where not recorded. ${gated('interviewee.country')}`).optional(),
    bio: nullableText(`A few sentences on the interviewee. Null where not recorded. ${gated('interviewee.bio')}`).optional(),
  },
);

const participant = namedObject('Participant', 'Somebody who took part in the call.', {
  name: nullableText("Null where not recorded. The interviewee's name is shown as `interviewee.name` shows it."),
  role: nullableText('Their part in the call, such as `Lead`. Null where not recorded.'),
  email: nullableText(
    `Null where not recorded. ${gated('participants.email')} Also absent for the interviewee where another name replaces the recorded one.`,
  ).optional(),
});

const qaBlock = namedObject('QaBlock', 'A question and its answer.', {
  id: uuid('Identifies the block.'),
  question: nullableText('Null where not recorded.'),
  answer: nullableText('The answer, rewritten as a clean statement that stands alone. Null where not recorded.'),
  section: nullableText('The heading it belongs under. Null where it has none.'),
});

export const call = namedObject('Call', 'A call in full, as far as the organization may see it.', {
  call_id: shared.call_id,
  project_id: shared.project_id,
  call_type: shared.call_type,
  call_status: shared.call_status,
  anonymity_status: z
    .enum(['not_requested', 'started', 'complete', 'errored'])
    .nullable()
    .describe('Where redaction of the transcript stands. Null where not recorded.'),
  date: shared.date,
  created_at: shared.created_at,
  updated_at: shared.updated_at,
  duration_minutes: shared.duration_minutes,
  segment: shared.segment,
  source: shared.source,
  rating: z
    .number()
    .min(1)
    .max(5)
    .nullable()
    .describe(`From 1 to 5, 5 being best. Null where the call is not rated. ${gated('rating')}`)
    .optional(),
  cost: z
    .number()
    .min(0)
    .nullable()
    .describe(`Recorded spend, in the project's currency. Null where not recorded. ${gated('cost')}`)
    .optional(),
  interviewee,
  participants: z
    .array(participant)
    .describe(`The people who took part; empty where nobody is recorded. ${gated('participants')}`)
    .optional(),
  summary: nullableText(`Summary of the call, in Markdown. Null where there is none yet. ${gated('summary')}`).optional(),
  key_takeaways: nullableText(`Key takeaways, in Markdown. Null where there are none yet. ${gated('key_takeaways')}`).optional(),
  key_takeaways_status: z
    .enum(['pending', 'approved'])
    .nullable()
    .describe(
      `\`pending\`: generated, not yet reviewed. \`approved\`: reviewed. Null where not recorded. ${gated('key_takeaways')}`,
    )
    .optional(),
  qa_blocks: z
    .array(qaBlock)
    .describe(`Questions and answers, in the order of the call; empty where there are none. ${gated('qa_blocks')}`)
    .optional(),
  transcripts: z
    .array(transcriptEntry)
    .max(3)
    .describe(
      'At most one entry of each kind. An entry is there where it is recorded, its kind is enabled (`transcripts.verbatim`, `transcripts.redacted`, `transcripts.clean`) and the request does not leave it out.',
    ),
});

const callDetailList = namedObject('CallDetailList', 'A page of calls in full, as `expand=detail` asks for it.', {
  data: z.array(call).describe('The calls of this page in full, newest first. Empty past the last page.'),
  pagination,
});

export const callPage = z
  .union([callList, callDetailList])
  .describe('A page of list items, or with `expand=detail` of calls in full.')
  .register(components, { id: 'CallPage' });
