import type { Metadata, Stored } from '../columns.ts';
import { kindsOf, renames, showsTranscripts, type FieldMask, type Include } from '../view.ts';
import { replacementFor, shownName, type Named } from './names.ts';
import { splitDetail, splitListItem, type DetailParts } from './parts.ts';
import { chunksOf, fillNames, fillParticipants } from './placeholders.ts';

/** How an organization sees the detail of a call. */
export interface DetailView {
  mask: FieldMask;
  /** The organization's name secret, if it has interviewees' names anonymized. */
  anonymizeWith: Buffer | undefined;
  include: Include;
}

/** A stored call. Transcripts that the caller doesn't see are null, and so is `redacted` unless redaction is complete. */
export interface DetailRow extends Stored {
  /** `[name, employer, anonymized name]` as JSON; null where names are shown as recorded. */
  interviewee: string | null;
}

/** A stored call as its user sees it. */
export interface UserCall extends Metadata, Pick<Stored, 'detailJson' | 'verbatim'> {
  createdAt: Date;
  /** The user's own notes. */
  notes: string | null;
}

/** Renders the REST list item. A disabled field is absent; an enabled field without a value is null. */
export function* renderListItem(listItemJson: string, mask: FieldMask): Generator<string> {
  const { head, segment, source, hasTranscript } = splitListItem(listItemJson);
  const labels = (mask.has('segment') ? segment : '') + (mask.has('source') ? source : '');
  yield `{${head}${labels}${showsTranscripts(mask) ? hasTranscript : ',"has_transcript":false'}}`;
}

/** Renders the REST detail in chunks. A disabled field is absent; an enabled field without a value is null. */
export function* renderDetail(call: DetailRow, view: DetailView): Generator<string> {
  const { mask, anonymizeWith } = view;
  const parts = splitDetail(call.detailJson);
  const named = renames(mask, anonymizeWith !== undefined) ? namedOf(call) : undefined;
  const replacement = named && replacementFor(named, mask.has('interviewee.name'), anonymizeWith);
  const interviewee = [
    mask.has('interviewee.name') ? fillNames(parts.name, (named && shownName(named, anonymizeWith)) ?? undefined) : '',
    mask.has('interviewee.job_title') ? parts.jobTitle : '',
    mask.has('interviewee.organization') ? parts.employer : '',
    mask.has('interviewee.country') ? parts.country : '',
    mask.has('interviewee.bio') ? parts.bio : '',
  ];
  yield `{${parts.head}`;
  if (mask.has('segment')) yield* chunksOf(parts.segment);
  if (mask.has('source')) yield* chunksOf(parts.source);
  if (mask.has('rating')) yield parts.rating;
  if (mask.has('cost')) yield parts.cost;
  yield ',"interviewee":{';
  yield* chunksOf(interviewee.join('').slice(1));
  yield '}';
  if (mask.has('participants')) {
    const showsEmails = mask.has('participants.email');
    for (const chunk of chunksOf(parts.participants)) yield fillParticipants(chunk, showsEmails, replacement);
  }
  if (mask.has('summary')) yield* chunksOf(parts.summary);
  if (mask.has('key_takeaways')) yield* chunksOf(parts.keyTakeaways);
  if (mask.has('qa_blocks')) yield* chunksOf(parts.qaBlocks);
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
    yield* chunksOf(language);
    yield ',"text":';
    yield* filledChunks(text, replacement);
    yield ',"segments":';
    yield* filledChunks(segments!, replacement);
    yield '}';
    comma = ',';
  }
}

function* filledChunks(json: string, name: string | undefined): Generator<string> {
  for (const chunk of chunksOf(json)) yield fillNames(chunk, name);
}

/** Renders the tools' detail in chunks, with the parts that the request names, and with names as recorded. */
export function* renderToolResult(
  call: UserCall,
  include: { ktas: boolean; notes: boolean; qa: boolean; summary: boolean; transcript: boolean },
): Generator<string> {
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
  yield* chunksOf(include.transcript ? json.slice(0, -1) : json);
  if (!include.transcript) return;
  yield ',"transcript":';
  yield* filledChunks(call.verbatim ?? 'null', undefined);
  yield '}';
}

/** Returns the content that has no column of its own, as recorded, as JSON. */
export function contentJson(row: Stored): string {
  const parts = splitDetail(row.detailJson);
  const transcripts = (['verbatim', 'redacted'] as const).map((kind) => {
    const segments = row[`${kind}Segments`];
    return `"${kind}":${fillNames((segments === '[]' ? row[kind] : segments) ?? 'null', undefined)}`;
  });
  return `{${contentMembers(parts)},"language":${parts.language},${transcripts.join(',')}}`;
}

function contentMembers({ bio, participants, summary, keyTakeaways, qaBlocks }: DetailParts): string {
  return (bio + fillParticipants(participants, true, undefined) + summary + keyTakeaways + qaBlocks).slice(1);
}
