/** Renders calls for an organization (REST) and for a user (tools), as JSON. Keys have the order of the contract. */
import type { Metadata, Stored, UserListItem } from './columns.ts';
import { showsTranscripts, type Gate } from './fields.ts';
import { formatInstant } from './instant.ts';
import { piecesOf, showNames, showParticipants } from './marks.ts';
import { replacementFor, shownName, type Named } from './names.ts';
import { HAS_NO_TRANSCRIPT, itemPartsOf, partsOf, readContent } from './stored.ts';

/** How one caller sees a call. */
export interface View {
  gate: Gate;
  /** The organization's secret, if the organization has interviewees' names anonymized. */
  anonymizeWith: Buffer | undefined;
  /** The transcript entries that the request asks for. */
  include: { verbatim: boolean; redacted: boolean; clean: boolean };
}

/** The flags of a request that leave transcript entries out. */
export interface Without {
  withoutVerbatim: boolean;
  withoutRedacted: boolean;
  withoutClean: boolean;
}

export function includeOf({ withoutVerbatim, withoutRedacted, withoutClean }: Without): View['include'] {
  return { verbatim: !withoutVerbatim, redacted: !withoutRedacted, clean: !withoutClean };
}

/** The kinds of transcripts that a view has. */
export function kindsOf({ gate, include }: Pick<View, 'gate' | 'include'>): Set<keyof View['include']> {
  return new Set((['verbatim', 'redacted', 'clean'] as const).filter((kind) => gate.has(`transcripts.${kind}`) && include[kind]));
}

/** A list item. A key that isn't enabled is absent. */
export function renderListItem(item: string, gate: Gate): string {
  const { head, segment, source, hasTranscript } = itemPartsOf(item);
  const labels = (gate.has('segment') ? segment : '') + (gate.has('source') ? source : '');
  return `{${head}${labels}${showsTranscripts(gate) ? hasTranscript : HAS_NO_TRANSCRIPT}}`;
}

/** A JSON array of items that are rendered one after the other, while the array is read. */
export function* renderList(items: Iterable<Iterable<string>>): Generator<string> {
  let separator = '[';
  for (const item of items) {
    yield separator;
    yield* item;
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

/** A stored call as REST reads it. Transcripts that the caller doesn't see are null, and so is `redacted` unless redaction is complete. */
export interface Call extends Stored {
  /** `[name, employer, anonymized name]` as JSON; null where names are shown as recorded. */
  interviewee: string | null;
}

/** Whether another name stands in place of the interviewee's. */
export function renames(gate: Gate, anonymize: boolean): boolean {
  return anonymize || !gate.has('interviewee.name');
}

/** The call detail, in pieces. A key that isn't enabled is absent. A key that is enabled but empty is null. */
export function* renderCall(call: Call, view: View): Generator<string> {
  const { gate, anonymizeWith } = view;
  const parts = partsOf(call);
  const named = renames(gate, anonymizeWith !== undefined) ? namedOf(call) : undefined;
  const replacement = named && replacementFor(named, gate.has('interviewee.name'), anonymizeWith);
  const interviewee = [
    gate.has('interviewee.name') ? showNames(parts.name, (named && shownName(named, anonymizeWith)) ?? undefined) : '',
    gate.has('interviewee.job_title') ? parts.jobTitle : '',
    gate.has('interviewee.organization') ? parts.employer : '',
    gate.has('interviewee.country') ? parts.country : '',
    gate.has('interviewee.bio') ? parts.bio : '',
  ];
  yield `{${parts.head}`;
  if (gate.has('segment')) yield* piecesOf(parts.segment);
  if (gate.has('source')) yield* piecesOf(parts.source);
  if (gate.has('rating')) yield parts.rating;
  if (gate.has('cost')) yield parts.cost;
  yield ',"interviewee":{';
  yield* piecesOf(interviewee.join('').slice(1));
  yield '}';
  if (gate.has('participants')) {
    const showsEmails = gate.has('participants.email');
    for (const piece of piecesOf(parts.participants)) yield showParticipants(piece, showsEmails, replacement);
  }
  if (gate.has('summary')) yield* piecesOf(parts.summary);
  if (gate.has('key_takeaways')) yield* piecesOf(parts.keyTakeaways);
  if (gate.has('qa_blocks')) yield* piecesOf(parts.qaBlocks);
  yield ',"transcripts":[';
  yield* renderTranscripts(call, parts, view, replacement);
  yield ']}';
}

function namedOf({ interviewee }: Call): Named {
  const [name, employer, anonymizedName] = JSON.parse(interviewee!);
  return { name, employer, anonymizedName };
}

function* renderTranscripts(
  call: Call,
  { language }: { language: string },
  view: View,
  replacement: string | undefined,
): Generator<string> {
  const kinds = kindsOf(view);
  const entries = [
    ['verbatim', call.verbatim, call.verbatimSegments],
    ['redacted', call.redacted, call.redactedSegments],
    ['clean', call.clean, '[]'],
  ] as const;
  let comma = '';
  for (const [kind, text, segments] of entries) {
    if (text === null || !kinds.has(kind)) continue;
    yield `${comma}{"kind":"${kind}","language":`;
    yield* piecesOf(language);
    yield ',"text":';
    yield* piecesShowing(text, replacement);
    yield ',"segments":';
    yield* piecesShowing(segments!, replacement);
    yield '}';
    comma = ',';
  }
}

function* piecesShowing(marked: string, name: string | undefined): Generator<string> {
  for (const piece of piecesOf(marked)) yield showNames(piece, name);
}

export function renderUserListItem(row: UserListItem): Record<string, unknown> {
  return {
    id: row.callId,
    call_status: row.callStatus,
    cost: row.cost,
    country: row.country,
    created_at: formatInstant(row.createdAt),
    date: row.date && formatInstant(row.date),
    duration_minutes: row.durationMinutes,
    job_title: row.jobTitle,
    name: row.name,
    organization: row.employer,
    rating: row.rating,
    segment: row.segment,
    source: row.source,
  };
}

/** The parts of a call that the request asks for. */
export interface Include {
  ktas: boolean;
  notes: boolean;
  qa: boolean;
  summary: boolean;
  transcript: boolean;
}

/** A call as a user sees it. */
export interface UserCall extends Metadata, Pick<Stored, 'shown' | 'verbatim'> {
  createdAt: Date;
  /** The user's own notes. */
  notes: string | null;
}

/** The call detail for a user, in pieces, with names as recorded. A part that the request doesn't ask for is absent. */
export function* renderUserCall(call: UserCall, include: Include): Generator<string> {
  const { bio, ktaApprovalStatus, ktas, qaBlocks, summary } = readContent(call);
  const json = JSON.stringify({
    id: call.callId,
    transcript_public_id: call.callId,
    anonymity_status: call.anonymityStatus,
    call_status: call.callStatus,
    cost: call.cost,
    created_at: formatInstant(call.createdAt),
    date: call.date && formatInstant(call.date),
    duration_minutes: call.durationMinutes,
    expert: { bio, country: call.country, job_title: call.jobTitle, name: call.name, organization: call.employer },
    ...(include.ktas && { kta_approval_status: ktaApprovalStatus, ktas }),
    ...(include.notes && { notes: call.notes }),
    ...(include.qa && { qa_blocks: qaBlocks }),
    rating: call.rating,
    segment: call.segment,
    source: call.source,
    ...(include.summary && { summary }),
  });
  yield* piecesOf(include.transcript ? json.slice(0, -1) : json);
  if (!include.transcript) return;
  yield ',"transcript":';
  yield* piecesShowing(call.verbatim ?? 'null', undefined);
  yield '}';
}
