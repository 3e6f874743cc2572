/** Renders calls for an organization (REST) and for a user (tools), as objects for JSON. Their keys have the order of the contract. */
import type { Transcript } from './call.ts';
import type { Call, CallDetail, ListItem, UserListItem } from './columns.ts';
import { showsTranscripts, type Gate } from './fields.ts';
import { formatInstant } from './instant.ts';
import { replacementFor, shownName } from './names.ts';
import { cleanText, rename, renameIn, renaming, type Renaming } from './transcript.ts';

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

/** The kinds of recorded transcripts that a view needs. */
export function kindsOf(gate: Gate, include: View['include']): Transcript['kind'][] {
  return (['verbatim', 'redacted'] as const).filter((kind) => gate.has(`transcripts.${kind}`) && include[kind]);
}

/**
 * A list item. Instants become strings here, because a `Date` costs `JSON.stringify` its fast path. With strings it is as quick as JSON
 * that is built by hand; with dates it takes twice as long.
 */
export function renderListItem(row: ListItem, gate: Gate): Record<string, unknown> {
  return {
    call_id: row.callId,
    duration_minutes: row.durationMinutes,
    created_at: formatInstant(row.createdAt),
    updated_at: formatInstant(row.updatedAt),
    date: row.date && formatInstant(row.date),
    call_type: row.callType,
    call_status: row.callStatus,
    project_id: row.projectId,
    ...(gate.has('segment') && { segment: row.segment }),
    ...(gate.has('source') && { source: row.source }),
    has_transcript: showsTranscripts(gate) && row.hasVerbatim,
  };
}

/** The call detail. A key that isn't enabled is absent. A key that is enabled but empty is null. */
export function renderCall(call: Call, view: View): Record<string, unknown> {
  const { gate, anonymizeWith } = view;
  const replacement = replacementFor(call, gate.has('interviewee.name'), anonymizeWith);
  const to = replacement === undefined ? undefined : renaming(call.name!, replacement);
  return {
    call_id: call.callId,
    project_id: call.projectId,
    call_type: call.callType,
    call_status: call.callStatus,
    anonymity_status: call.anonymityStatus,
    date: call.date && formatInstant(call.date),
    created_at: formatInstant(call.createdAt),
    updated_at: formatInstant(call.updatedAt),
    duration_minutes: call.durationMinutes,
    ...(gate.has('segment') && { segment: call.segment }),
    ...(gate.has('source') && { source: call.source }),
    ...(gate.has('rating') && { rating: call.rating }),
    ...(gate.has('cost') && { cost: call.cost }),
    interviewee: renderInterviewee(call, shownName(call, anonymizeWith), gate),
    ...(gate.has('participants') && { participants: renderParticipants(call, gate, to) }),
    ...(gate.has('summary') && { summary: call.summary }),
    ...(gate.has('key_takeaways') && { key_takeaways: call.ktas, key_takeaways_status: call.ktaApprovalStatus }),
    ...(gate.has('qa_blocks') && {
      qa_blocks: renderQaBlocks(call),
    }),
    transcripts: renderTranscripts(call, view, to),
  };
}

function renderInterviewee(call: Call, name: string | null, gate: Gate) {
  return {
    ...(gate.has('interviewee.name') && { name }),
    ...(gate.has('interviewee.job_title') && { job_title: call.jobTitle }),
    ...(gate.has('interviewee.organization') && { organization: call.employer }),
    ...(gate.has('interviewee.country') && { country: call.country }),
    ...(gate.has('interviewee.bio') && { bio: call.bio }),
  };
}

function renderParticipants({ participants }: Call, gate: Gate, to: Renaming | undefined) {
  return participants.map(({ name, role, email }) => ({
    name: name !== null && to ? rename(name, to) : name,
    role,
    ...(gate.has('participants.email') && { email }),
  }));
}

function renderTranscripts(call: Call, { gate, include }: View, to: Renaming | undefined) {
  const redacted = gate.has('transcripts.redacted') && include.redacted && call.anonymityStatus === 'complete';
  const clean = gate.has('transcripts.clean') && include.clean ? cleanText(call.qaBlocks) : null;
  return [
    ...(gate.has('transcripts.verbatim') && include.verbatim ? recorded(call, 'verbatim', to) : []),
    ...(redacted ? recorded(call, 'redacted', to) : []),
    ...(clean === null ? [] : [{ kind: 'clean', language: call.language, text: clean, segments: [] }]),
  ];
}

function recorded(call: Call, kind: Transcript['kind'], to: Renaming | undefined) {
  return call.transcripts
    .filter((transcript) => transcript.kind === kind)
    .map((transcript) => (to ? renameIn(transcript, to) : transcript))
    .map(({ text, segments }) => ({
      kind,
      language: call.language,
      text,
      segments: segments.map(({ speaker, startSeconds, text: said }) => ({ speaker, start_seconds: startSeconds, text: said })),
    }));
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
export interface UserCall extends CallDetail {
  /** The user's own notes. */
  notes: string | null;
  /** The text of the verbatim transcript. Null if there is none, or if the request doesn't ask for it. */
  transcript: string | null;
}

/** The call detail for a user, with names as recorded. A part that the request doesn't ask for is absent. */
export function renderUserCall(call: UserCall, include: Include): Record<string, unknown> {
  return {
    id: call.callId,
    transcript_public_id: call.callId,
    anonymity_status: call.anonymityStatus,
    call_status: call.callStatus,
    cost: call.cost,
    created_at: formatInstant(call.createdAt),
    date: call.date && formatInstant(call.date),
    duration_minutes: call.durationMinutes,
    expert: { bio: call.bio, country: call.country, job_title: call.jobTitle, name: call.name, organization: call.employer },
    ...(include.ktas && { kta_approval_status: call.ktaApprovalStatus, ktas: call.ktas }),
    ...(include.notes && { notes: call.notes }),
    ...(include.qa && { qa_blocks: renderQaBlocks(call) }),
    rating: call.rating,
    segment: call.segment,
    source: call.source,
    ...(include.summary && { summary: call.summary }),
    ...(include.transcript && { transcript: call.transcript }),
  };
}

function renderQaBlocks({ qaBlocks }: CallDetail) {
  return qaBlocks.map(({ id, question, answer, section }) => ({ id, question, answer, section }));
}
