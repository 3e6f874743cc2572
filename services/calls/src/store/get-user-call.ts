import type { Statement } from '@crs/kit/data/database';
import type { QaBlock } from '../domain/call.ts';

export interface UserCallDetailRow {
  callId: string;
  anonymityStatus: string | null;
  callStatus: string | null;
  cost: number | null;
  createdAt: Date;
  date: Date | null;
  durationMinutes: number | null;
  bio: string | null;
  country: string | null;
  jobTitle: string | null;
  name: string | null;
  employer: string | null;
  keyTakeawaysStatus: string | null;
  keyTakeaways: string | null;
  notes: string | null;
  qaBlocks: QaBlock[];
  rating: number | null;
  segment: string | null;
  source: string | null;
  summary: string | null;
  /** Null also where it isn't asked for. */
  transcript: string | null;
}

/** One call, where the user conducted it or sees its project, with the user's own notes. */
export function getUserCall(
  organization: string,
  userId: string,
  visible: string[],
  callId: string,
  withTranscript: boolean,
): Statement {
  return {
    name: 'get_user_call',
    text: `select call_id as "callId", anonymity_status as "anonymityStatus", call_status as "callStatus", cost, created_at as "createdAt", date,
        duration_minutes as "durationMinutes", bio, country, job_title as "jobTitle", name, employer,
        kta_approval_status as "keyTakeawaysStatus", ktas as "keyTakeaways", qa_blocks as "qaBlocks", rating, segment, source, summary,
        (select n.text from calls.notes n where n.organization = $1 and n.call_id = $2 and n.user_id = $3) as notes,
        case when $5 then (
          select t.text from calls.transcripts t where t.organization = $1 and t.call_id = $2 and t.kind = 'verbatim') end as transcript
      from calls.calls where organization = $1 and call_id = $2 and (conducted_by = $3 or project_id = any($4::uuid[]))`,
    values: [organization, callId, userId, visible, withTranscript],
  };
}

/** The distinct labels of each project, by code point. */
export function projectSegments(organization: string, projectIds: string[]): Statement {
  return {
    name: 'project_segments',
    text: `select project_id as "projectId", array_agg(segment order by segment collate "C") as segments
      from (select distinct project_id, segment from calls.calls
        where organization = $1 and project_id = any($2::uuid[]) and segment is not null) labels
      group by project_id`,
    values: [organization, projectIds],
  };
}
