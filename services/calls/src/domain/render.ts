/** Calls as an organization sees them over REST: objects for JSON, their keys in the order of the contract. */
import type { Call, CallSummary, Interviewee, Transcript } from './call.ts';
import type { Gate } from './fields.ts';
import { formatInstant } from './instant.ts';
import { replacementFor, shownName } from './names.ts';
import { cleanText, rename, renameIn, renaming, type Renaming } from './transcript.ts';

/** How one caller sees a call. */
export interface View {
  gate: Gate;
  /** The organization's secret where it has interviewees' names anonymized. */
  anonymizeWith: Buffer | undefined;
  /** The transcript entries that the request asks for. */
  include: { verbatim: boolean; redacted: boolean; clean: boolean };
}

/**
 * A list item. Instants become strings here, as a `Date` would throw `JSON.stringify` off its fast path: with strings it is as quick
 * as building the JSON by hand, with dates it takes twice as long.
 */
export function renderListItem(row: CallSummary, gate: Gate): Record<string, unknown> {
  return {
    call_id: row.callId,
    duration_minutes: row.durationMinutes,
    created_at: formatInstant(row.createdAt),
    updated_at: formatInstant(row.updatedAt),
    date: row.date && formatInstant(row.date),
    call_type: row.callType,
    call_status: row.callStatus,
    project_id: row.projectId,
    ...(gate.segment && { segment: row.segment }),
    ...(gate.source && { source: row.source }),
    has_transcript: gate.hasTranscript && row.hasVerbatim,
  };
}

/** The call detail. A key that isn't enabled is absent; one that is enabled but empty is null. */
export function renderCall(call: Call, view: View): Record<string, unknown> {
  const { gate, anonymizeWith } = view;
  const replacement = replacementFor(call, gate.name, anonymizeWith);
  const to = replacement === undefined ? undefined : renaming(call.interviewee.name!, replacement);
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
    ...(gate.segment && { segment: call.segment }),
    ...(gate.source && { source: call.source }),
    ...(gate.rating && { rating: call.rating }),
    ...(gate.cost && { cost: call.cost }),
    interviewee: renderInterviewee(call.interviewee, shownName(call, anonymizeWith), gate),
    ...(gate.participants && { participants: renderParticipants(call, gate, to) }),
    ...(gate.summary && { summary: call.summary }),
    ...(gate.keyTakeaways && { key_takeaways: call.keyTakeaways, key_takeaways_status: call.keyTakeawaysStatus }),
    ...(gate.qaBlocks && {
      qa_blocks: call.qaBlocks.map(({ id, question, answer, section }) => ({ id, question, answer, section })),
    }),
    transcripts: renderTranscripts(call, view, to),
  };
}

function renderInterviewee(interviewee: Interviewee, name: string | null, gate: Gate) {
  return {
    ...(gate.name && { name }),
    ...(gate.jobTitle && { job_title: interviewee.jobTitle }),
    ...(gate.employer && { organization: interviewee.organization }),
    ...(gate.country && { country: interviewee.country }),
    ...(gate.bio && { bio: interviewee.bio }),
  };
}

function renderParticipants({ participants }: Call, gate: Gate, to: Renaming | undefined) {
  return participants.map(({ name, role, email }) => ({
    name: name !== null && to ? rename(name, to) : name,
    role,
    ...(gate.participantEmails && { email }),
  }));
}

function renderTranscripts(call: Call, { gate, include }: View, to: Renaming | undefined) {
  const redacted = gate.redacted && include.redacted && call.anonymityStatus === 'complete';
  const clean = gate.clean && include.clean ? cleanText(call.qaBlocks) : null;
  return [
    ...(gate.verbatim && include.verbatim ? recorded(call, 'verbatim', to) : []),
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
