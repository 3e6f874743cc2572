import type { Statement } from '@crs/kit/data/database';
import type { Call, Transcript } from '../domain/call.ts';

export interface CallRow extends Omit<Call, 'interviewee' | 'transcripts'> {
  name: string | null;
  jobTitle: string | null;
  employer: string | null;
  country: string | null;
  bio: string | null;
  transcripts: Transcript[];
  /** Null: none was needed yet. */
  nameSecret: Buffer | null;
}

/** One call with the transcripts of these kinds, of one moment. */
export function getCall(organization: string, callId: string, kinds: Transcript['kind'][]): Statement {
  return {
    name: 'get_call',
    text: `select call_id as "callId", project_id as "projectId", call_type as "callType", call_status as "callStatus",
        anonymity_status as "anonymityStatus", date, created_at as "createdAt", updated_at as "updatedAt",
        duration_minutes as "durationMinutes", segment, source, rating, cost, name, job_title as "jobTitle", employer, country, bio,
        anonymized_name as "anonymizedName", participants, summary, ktas as "keyTakeaways",
        kta_approval_status as "keyTakeawaysStatus", qa_blocks as "qaBlocks", language,
        coalesce((
          select json_agg(json_build_object('kind', t.kind, 'text', t.text, 'segments', t.segments))
          from calls.transcripts t where t.organization = $1 and t.call_id = $2 and t.kind = any($3)), '[]') as transcripts,
        (select secret from calls.name_secrets where organization = $1) as "nameSecret"
      from calls.calls where organization = $1 and call_id = $2`,
    values: [organization, callId, kinds],
  };
}

export function toCall({ name, jobTitle, employer, country, bio, ...call }: Omit<CallRow, 'nameSecret'>): Call {
  return { ...call, interviewee: { name, jobTitle, organization: employer, country, bio } };
}
