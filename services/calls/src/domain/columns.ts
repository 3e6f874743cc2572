/** The columns of `calls.calls`, each declared once. The schema of an import line, the written row and the select lists are derived from them. */
import * as column from '@crs/kit/data/column';
import {
  timestamp,
  list,
  email,
  MAX_ITEMS,
  nullableText,
  orDefault,
  orNull,
  text as textOf,
  uuid,
} from '@crs/records/import-record';
import { z } from 'zod';
import { ANONYMITY_STATUSES, CALL_STATUSES, CALL_TYPES, KTA_APPROVAL_STATUSES, type Participant } from './call.ts';

/** Filled from the line's property of the same name in snake case. */
function fromLine<T>(type: column.Column<T>, line: z.ZodType<T>, description: string) {
  return { ...type, line: line.describe(description) };
}

/** Text, or null. */
function text(description: string) {
  return fromLine(column.text.orNull, nullableText, description);
}

/** A number that isn't negative, or null. */
function amount(description: string) {
  return fromLine(column.double.orNull, orNull(z.number().min(0)), description);
}

function oneOf<T extends string>(_values: readonly T[]): column.Column<T> {
  return column.oneOf<T>();
}

/** Filled from this property of the line's `expert`. */
function fromExpert(property: string, description: string) {
  return { ...column.text.orNull, expert: property, schema: nullableText.describe(description) };
}

const participant = z.strictObject({
  name: nullableText.describe('The name.'),
  role: nullableText.describe('Any text, such as `host`.'),
  email: orNull(email).describe('Any address, not only of a user.'),
});

/** A call's hashes depend on the order of the columns and of the parts of the stored JSON. Changing the order changes `updatedAt` at the next import. */
export const METADATA = {
  callId: column.text,
  projectId: fromLine(column.uuid.orNull, orNull(uuid), 'Null: only the user who conducted the call sees it in the tools.'),
  callType: fromLine(
    oneOf(CALL_TYPES),
    orDefault(z.enum(CALL_TYPES), 'interview'),
    '`interview`: a call with an expert. `meeting`: an internal or recorded meeting.',
  ),
  callStatus: fromLine(oneOf(CALL_STATUSES).orNull, orNull(z.enum(CALL_STATUSES)), 'State of scheduling.'),
  anonymityStatus: fromLine(
    oneOf(ANONYMITY_STATUSES).orNull,
    orNull(z.enum(ANONYMITY_STATUSES)),
    'State of the redaction. REST returns the redacted transcript once this is `complete`.',
  ),
  date: fromLine(column.timestamp.orNull, orNull(timestamp), 'When the call takes place.'),
  durationMinutes: amount('Length of the call.'),
  cost: amount('Recorded spend in the currency of the project.'),
  rating: fromLine(column.double.orNull, orNull(z.number().min(1).max(5)), '5 is best.'),
  segment: text("Label that groups a project's calls by kind of interviewee."),
  source: text('Any text, such as the name of an expert network.'),
  country: fromExpert('country', 'Any spelling. `list_calls` ignores its case.'),
  jobTitle: fromExpert('job_title', 'Job title.'),
  employer: fromExpert('organization', 'The employer.'),
  name: fromExpert('name', 'The real name.'),
  // The name replaces each label in a transcript, so a long name would multiply the transcript's length.
  anonymizedName: fromLine(
    column.text.orNull,
    orNull(textOf(0, 200)),
    'Replaces the name at REST, if names are anonymized. Null: REST generates one.',
  ),
};

/** Texts that filters compare case-insensitively. The table also has each of them folded, in a column `<name>_folded`. */
export const FOLDED = ['segment', 'source', 'country', 'jobTitle', 'employer'] as const;

/** Filled like the columns, but stored only as parts of `detail_json`. */
export const CONTENT = {
  bio: fromExpert('bio', 'Short biography.'),
  language: text('Language of the transcripts, such as `en`.'),
  summary: text('Summary in Markdown.'),
  ktas: text('Key takeaways in Markdown. REST calls them `key_takeaways`.'),
  ktaApprovalStatus: fromLine(
    oneOf(KTA_APPROVAL_STATUSES).orNull,
    orNull(z.enum(KTA_APPROVAL_STATUSES)),
    'State of their review. REST calls it `key_takeaways_status`.',
  ),
  participants: fromLine(column.json<Participant[]>(), orDefault(list(participant, { most: MAX_ITEMS }), []), 'Who took part.'),
};

const { callId, callStatus, cost, country, date, durationMinutes, jobTitle, name, employer, rating, segment, source } = METADATA;

export const USER_LIST_ITEM = {
  ...{ callId, callStatus, cost, country, date, durationMinutes, jobTitle, name, employer, rating, segment, source },
  createdAt: column.timestamp,
  /** `date`, or `createdAt` if there is none. */
  recency: column.timestamp,
};

export type Metadata = column.RowOf<typeof METADATA>;
export type Content = column.RowOf<typeof CONTENT>;
export type UserListItem = column.RowOf<typeof USER_LIST_ITEM>;

/** Columns of texts that `stored-json` encodes. */
export const STORED = {
  detailJson: column.text,
  clean: column.text.orNull,
  verbatim: column.text.orNull,
  verbatimSegments: column.text.orNull,
  redacted: column.text.orNull,
  redactedSegments: column.text.orNull,
};

export type Stored = column.RowOf<typeof STORED>;
