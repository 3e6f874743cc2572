import type { Metadata, Stored } from '../columns.ts';
import { kindsOf, renames, showsTranscripts, type Gate, type Include } from '../view.ts';
import { piecesOf, showNames, showParticipants } from './marks.ts';
import { replacementFor, shownName, type Named } from './names.ts';
import { splitDetail, splitListItem, type DetailParts } from './parts.ts';

/** A list item of REST. */
interface ListItemView {
  as: 'list item';
  gate: Gate;
}

interface ListItemRow {
  listItemJson: string;
}

/** A detail of REST. */
export interface DetailView {
  as: 'detail';
  gate: Gate;
  /** The organization's secret, if the organization has interviewees' names anonymized. */
  anonymizeWith: Buffer | undefined;
  include: Include;
}

/** Transcripts that the caller doesn't see are null, and so is `redacted` unless redaction is complete. */
export interface DetailRow extends Stored {
  /** `[name, employer, anonymized name]` as JSON; null where names are shown as recorded. */
  interviewee: string | null;
}

/** A detail of the tools, with the parts that the request asks for, and with names as recorded. */
interface ToolView {
  as: 'tool result';
  include: { ktas: boolean; notes: boolean; qa: boolean; summary: boolean; transcript: boolean };
}

export interface UserCall extends Metadata, Pick<Stored, 'detailJson' | 'verbatim'> {
  createdAt: Date;
  /** The user's own notes. */
  notes: string | null;
}

/** What no other column holds, as an import brought it. */
interface ContentView {
  as: 'content';
}

/** Renders a call as JSON, in pieces. In views of REST, a key that isn't enabled is absent, and one that is enabled but empty is null. */
export function render(row: ListItemRow, view: ListItemView): Iterable<string>;
export function render(row: DetailRow, view: DetailView): Iterable<string>;
export function render(row: UserCall, view: ToolView): Iterable<string>;
export function render(row: Stored, view: ContentView): Iterable<string>;
export function render(row: object, view: ListItemView | DetailView | ToolView | ContentView): Iterable<string> {
  switch (view.as) {
    case 'list item':
      return renderListItem(row as ListItemRow, view);
    case 'detail':
      return renderDetail(row as DetailRow, view);
    case 'tool result':
      return renderToolResult(row as UserCall, view);
    case 'content':
      return renderContent(row as Stored);
  }
}

function* renderListItem({ listItemJson }: ListItemRow, { gate }: ListItemView): Generator<string> {
  const { head, segment, source, hasTranscript } = splitListItem(listItemJson);
  const labels = (gate.has('segment') ? segment : '') + (gate.has('source') ? source : '');
  yield `{${head}${labels}${showsTranscripts(gate) ? hasTranscript : ',"has_transcript":false'}}`;
}

function* renderDetail(call: DetailRow, view: DetailView): Generator<string> {
  const { gate, anonymizeWith } = view;
  const parts = splitDetail(call.detailJson);
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

function namedOf({ interviewee }: DetailRow): Named {
  const [name, employer, anonymizedName] = JSON.parse(interviewee!);
  return { name, employer, anonymizedName };
}

function* renderTranscripts(
  call: DetailRow,
  { language }: DetailParts,
  view: DetailView,
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

function* renderToolResult(call: UserCall, { include }: ToolView): Generator<string> {
  const content = JSON.parse(`{${contentMembers(splitDetail(call.detailJson))}}`);
  const { bio, key_takeaways, key_takeaways_status, qa_blocks, summary } = content;
  const json = JSON.stringify({
    id: call.callId,
    transcript_public_id: call.callId,
    anonymity_status: call.anonymityStatus,
    call_status: call.callStatus,
    cost: call.cost,
    created_at: call.createdAt,
    date: call.date,
    duration_minutes: call.durationMinutes,
    expert: { bio, country: call.country, job_title: call.jobTitle, name: call.name, organization: call.employer },
    ...(include.ktas && { kta_approval_status: key_takeaways_status, ktas: key_takeaways }),
    ...(include.notes && { notes: call.notes }),
    ...(include.qa && { qa_blocks }),
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

function* renderContent(row: Stored): Generator<string> {
  const parts = splitDetail(row.detailJson);
  yield `{${contentMembers(parts)},"language":${parts.language}`;
  for (const kind of ['verbatim', 'redacted'] as const) {
    const segments = row[`${kind}Segments`];
    yield `,"${kind}":`;
    yield* piecesShowing((segments === '[]' ? row[kind] : segments) ?? 'null', undefined);
  }
  yield '}';
}

function contentMembers({ bio, participants, summary, keyTakeaways, qaBlocks }: DetailParts): string {
  return (bio + showParticipants(participants, true, undefined) + summary + keyTakeaways + qaBlocks).slice(1);
}
