import { z } from 'zod';
import { fold } from '@crs/kit/text';
import { argumentsOf, cursor, integer, limit, projectId, text, timestamp } from './arguments.ts';
import { PageCursors } from './cursor.ts';
import { nextCursor, nullableNumber, nullableString, tool } from './tool.ts';

const CALL_STATUSES = [
  'scheduled',
  'reached_out',
  'not_scheduled',
  'done',
  'rescheduled',
  'not_interested',
  'canceled',
  'candidate',
];
export const CALL_STATUS_WORDS = `${CALL_STATUSES.join(', ')}.`.replace('done', 'done (took place)');

const input = argumentsOf({
  scope: z
    .enum(['mine', 'all', 'project'])
    .default('mine')
    .describe(
      "mine: calls the user conducted. all: every call the user can see: of projects, teammates, and the user's own without a project. project: deprecated alias of all.",
    ),
  project_id: projectId
    .optional()
    .describe('id from list_projects; narrows any scope to one project. Absent: every accessible project.'),
  call_status: text(1, 64, `Exact, case-sensitive: ${CALL_STATUS_WORDS}`).optional(),
  call_type: z.enum(['interview', 'meeting']).optional().describe('interview: with an expert. meeting: internal or recorded.'),
  country: text(1, 64, "Interviewee's country, whole, any case.").optional(),
  job_title_contains: text(1, 128, "Part of the interviewee's job title, any case.").optional(),
  organization_contains: text(1, 128, "Part of the interviewee's employer, any case.").optional(),
  source_contains: text(1, 128, 'Part of the expert network or import label, any case.').optional(),
  segment_contains: text(1, 128, 'Part of a segment name (list_projects has them), any case.').optional(),
  min_rating: integer(1, 5).optional(),
  min_cost: z.number().min(0).optional().describe("In the project's currency."),
  max_cost: z.number().min(0).optional(),
  min_duration_minutes: z.number().min(0).optional(),
  max_duration_minutes: z.number().min(0).optional(),
  date_after: timestamp('Took place at or after this RFC 3339 date-time.').optional(),
  date_before: timestamp('Took place at or before this RFC 3339 date-time.').optional(),
  cursor,
  limit: limit(100, 25),
});

const item = z.object({
  id: z.string().describe('Pass as call_id to get_call.'),
  call_status: nullableString,
  cost: nullableNumber.describe("In the project's currency."),
  country: nullableString,
  created_at: nullableString.describe('Of the record, not the call.'),
  date: nullableString.describe('When it took place.'),
  duration_minutes: nullableNumber,
  job_title: nullableString,
  name: nullableString.describe("Interviewee's; original, not anonymized."),
  organization: nullableString.describe("Interviewee's employer."),
  rating: nullableNumber,
  segment: nullableString,
  source: nullableString,
});

const NAME = 'list_calls';

export const listCalls = tool({
  name: NAME,
  title: 'List calls',
  description:
    'Finds expert interviews and meetings by metadata, most recent first; no summaries or transcripts (get_call has them for one id). ' +
    'Filters combine with AND, and rows where the field is unknown never match. By default only calls the user conducted: use scope "all" ' +
    'for the whole team. If next_cursor is not null there are more.',
  scope: 'calls:read',
  input,
  output: z.object({ calls: z.array(item), next_cursor: nextCursor }),
  ids: ({ calls }) => calls.map(({ id }) => id),
  hint: ({ call_status: status }) =>
    status === undefined || CALL_STATUSES.includes(status)
      ? undefined
      : `No call has this call_status. It is exact and case-sensitive: ${CALL_STATUS_WORDS}`,
  async run({ calls, cursors }, args, call) {
    const { cursor: given, limit: size, scope, date_after: dateAfter, date_before: dateBefore, ...rest } = args;
    const mine = scope === 'mine';
    const folded = Object.fromEntries(
      Object.entries(rest).map(([name, value]) => [
        name,
        typeof value === 'string' && name !== 'call_status' ? fold(value) : value,
      ]),
    );
    const filters = { ...folded, mine, dateAfter, dateBefore };
    const pages = new PageCursors(cursors, NAME, call, filters);
    const { callsJson, next } = await calls.listUserCalls(
      {
        mine,
        projectId: rest.project_id,
        callStatus: rest.call_status,
        callType: rest.call_type,
        country: rest.country,
        jobTitleContains: rest.job_title_contains,
        organizationContains: rest.organization_contains,
        sourceContains: rest.source_contains,
        segmentContains: rest.segment_contains,
        minRating: rest.min_rating,
        minCost: rest.min_cost,
        maxCost: rest.max_cost,
        minDurationMinutes: rest.min_duration_minutes,
        maxDurationMinutes: rest.max_duration_minutes,
        dateAfter,
        dateBefore,
        after: pages.read(given),
        limit: size,
      },
      call,
    );
    return {
      calls: JSON.parse(callsJson.toString()) as z.infer<typeof item>[],
      next_cursor: pages.make(next && { at: next.at!, id: next.id }),
    };
  },
});
