/** Calls in responses. A field that an organization isn't enabled for is absent, so its property is optional. */
import { z } from 'zod';
import { absentWithout, callId, components, namedObject, nullableText, pagination, timestamp, uuid } from './common.ts';

const transcriptSegment = namedObject('TranscriptSegment', 'What one speaker says until the next one speaks.', {
  speaker: nullableText('Null if not recorded.'),
  start_seconds: z
    .number()
    .min(0)
    .nullable()
    .meta({ description: 'Seconds from the start of the recording. Null if not recorded.', examples: [12.4] }),
  text: z.string().describe('The words.'),
});

const transcriptEntry = namedObject('TranscriptEntry', 'One transcript of the call.', {
  kind: z
    .enum(['verbatim', 'redacted', 'clean'])
    .describe(
      '`verbatim`: the exact words. `redacted`: identifying details are removed; present once `anonymity_status` is `complete`. `clean`: the question-and-answer blocks as text; present only if `qa_blocks` is enabled too.',
    ),
  language: nullableText('Language of the text. Null if not recorded.', 'en'),
  text: z
    .string()
    .describe(
      'The full text. A segmented transcript has a line `speaker: text` for each segment; `clean` has `Q: ...` and `A: ...` lines, with an empty line between blocks.',
    ),
  segments: z
    .array(transcriptSegment)
    .describe('The segments, in order. Empty for `clean`, and if the transcript was recorded as plain text.'),
});

/** Properties of both list items and details. */
const shared = {
  call_id: callId('Identifies the call within the organization. Opaque.'),
  duration_minutes: z
    .number()
    .min(0)
    .nullable()
    .meta({ description: 'Minutes. Null if unknown.', examples: [54] }),
  created_at: timestamp('When the record was created, which is not when the call took place.'),
  updated_at: timestamp('When anything in the call detail last changed.'),
  date: timestamp('When the call took place or is scheduled. Null if unknown.').nullable(),
  call_type: z
    .enum(['interview', 'meeting'])
    .describe('`interview`: a call with an expert. `meeting`: an internal or recorded meeting.'),
  call_status: z
    .enum(['candidate', 'reached_out', 'scheduled', 'not_scheduled', 'not_interested', 'done', 'rescheduled', 'canceled'])
    .nullable()
    .describe('The status of scheduling. `done`: the call took place. Null if not recorded.'),
  project_id: uuid('The project of the call. Null if it has none.').nullable(),
  segment: nullableText(
    `The project's label for this type of interviewee. Null if it has none. ${absentWithout('segment')}`,
  ).optional(),
  source: nullableText(
    `An expert network's name, or the label of an import. Null if not recorded. ${absentWithout('source')}`,
  ).optional(),
};

const callListItem = namedObject('CallListItem', 'A call in a list: no names, no e-mail addresses.', {
  ...shared,
  has_transcript: z
    .boolean()
    .describe(
      'Whether a verbatim transcript is recorded. Always false if neither `transcripts.verbatim` nor `transcripts.redacted` is among the `allowed_fields`.',
    ),
});

const callList = namedObject('CallList', 'A page of calls.', {
  data: z.array(callListItem).describe('The calls of this page, newest first. Empty past the last page.'),
  pagination,
});

const interviewee = namedObject(
  'Interviewee',
  'The person interviewed. Always an object; empty if none of its fields are enabled.',
  {
    name: nullableText(
      `As recorded, or anonymized if the organization's settings require it. Null if not recorded. ${absentWithout('interviewee.name')}`,
    ).optional(),
    job_title: nullableText(`Null if not recorded. ${absentWithout('interviewee.job_title')}`).optional(),
    organization: nullableText(
      `The interviewee's employer. Null if not recorded. ${absentWithout('interviewee.organization')}`,
    ).optional(),
    country: nullableText(`Null if not recorded. ${absentWithout('interviewee.country')}`).optional(),
    bio: nullableText(`A few sentences on the interviewee. Null if not recorded. ${absentWithout('interviewee.bio')}`).optional(),
  },
);

const participant = namedObject('Participant', 'Somebody who took part in the call.', {
  name: nullableText('Null if not recorded. The interviewee has the same name as in `interviewee.name`.'),
  role: nullableText('Their role in the call, such as `Lead`. Null if not recorded.'),
  email: nullableText(
    `Null if not recorded. ${absentWithout('participants.email')} Also absent for the interviewee if their name is anonymized.`,
  ).optional(),
});

const qaBlock = namedObject('QaBlock', 'A question and its answer.', {
  id: uuid('Identifies the block.'),
  question: nullableText('Null if not recorded.'),
  answer: nullableText('The answer, rewritten as a self-contained statement. Null if not recorded.'),
  section: nullableText('The heading of the block. Null if it has none.'),
});

export const call = namedObject('Call', 'All the details of a call that the organization may see.', {
  call_id: shared.call_id,
  project_id: shared.project_id,
  call_type: shared.call_type,
  call_status: shared.call_status,
  anonymity_status: z
    .enum(['not_requested', 'started', 'complete', 'errored'])
    .nullable()
    .describe('The status of redaction of the transcript. Null if not recorded.'),
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
    .describe(`From 1 (worst) to 5 (best). Null if the call is not rated. ${absentWithout('rating')}`)
    .optional(),
  cost: z
    .number()
    .min(0)
    .nullable()
    .describe(`Recorded spend, in the project's currency. Null if not recorded. ${absentWithout('cost')}`)
    .optional(),
  interviewee,
  participants: z
    .array(participant)
    .describe(`The people who took part; empty if none are recorded. ${absentWithout('participants')}`)
    .optional(),
  summary: nullableText(`Summary of the call, in Markdown. Null if there is none yet. ${absentWithout('summary')}`).optional(),
  key_takeaways: nullableText(
    `Key takeaways, in Markdown. Null if there are none yet. ${absentWithout('key_takeaways')}`,
  ).optional(),
  key_takeaways_status: z
    .enum(['pending', 'approved'])
    .nullable()
    .describe(
      `\`pending\`: generated, not yet reviewed. \`approved\`: reviewed. Null if not recorded. ${absentWithout('key_takeaways')}`,
    )
    .optional(),
  qa_blocks: z
    .array(qaBlock)
    .describe(`Questions and answers, in the order of the call; empty if there are none. ${absentWithout('qa_blocks')}`)
    .optional(),
  transcripts: z
    .array(transcriptEntry)
    .max(3)
    .describe(
      'At most one entry of each kind. A kind is present if it is recorded and enabled (`transcripts.verbatim`, `transcripts.redacted`, `transcripts.clean`) and the request does not exclude it.',
    ),
});

const callDetailList = namedObject('CallDetailList', 'A page of calls in full, returned with `expand=detail`.', {
  data: z.array(call).describe('The calls of this page in full, newest first. Empty past the last page.'),
  pagination,
});

export const callPage = z
  .union([callList, callDetailList])
  .describe('A page of list items, or with `expand=detail` of calls in full.')
  .register(components, { id: 'CallPage' });
