/** Calls as a signed-in user's assistant reads them: names as recorded, keys in the order of the contract. */
import type { UserCallDetailRow } from '../store/get-user-call.ts';
import type { UserCallRow } from '../store/list-user-calls.ts';
import { formatInstant } from './instant.ts';

export function renderUserListItem({ recency: _recency, ...row }: UserCallRow): Record<string, unknown> {
  return { ...row, created_at: formatInstant(row.created_at), date: row.date && formatInstant(row.date) };
}

/** What of a call the request asks for. */
export interface Wanted {
  keyTakeaways: boolean;
  notes: boolean;
  qa: boolean;
  summary: boolean;
  transcript: boolean;
}

export function renderUserCall(row: UserCallDetailRow, wanted: Wanted): Record<string, unknown> {
  return {
    id: row.callId,
    transcript_public_id: row.callId,
    anonymity_status: row.anonymityStatus,
    call_status: row.callStatus,
    cost: row.cost,
    created_at: formatInstant(row.createdAt),
    date: row.date && formatInstant(row.date),
    duration_minutes: row.durationMinutes,
    expert: { bio: row.bio, country: row.country, job_title: row.jobTitle, name: row.name, organization: row.employer },
    ...(wanted.keyTakeaways && { kta_approval_status: row.keyTakeawaysStatus, ktas: row.keyTakeaways }),
    ...(wanted.notes && { notes: row.notes }),
    ...(wanted.qa && { qa_blocks: row.qaBlocks.map(({ id, question, answer, section }) => ({ id, question, answer, section })) }),
    rating: row.rating,
    segment: row.segment,
    source: row.source,
    ...(wanted.summary && { summary: row.summary }),
    ...(wanted.transcript && { transcript: row.transcript }),
  };
}
