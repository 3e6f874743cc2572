import { expect, it } from 'vitest';
import { LISTED } from '../protocol/serve-tools.ts';

/**
 * Facts in the specification about a field, and the words in its description that tell them to a model. A path begins with `in`
 * for a parameter and with `out` for a response field; the rest are property names, with lists left out.
 */
const NOTES: [tool: string, path: string, note: RegExp][] = [
  ['get_call', 'in.call_id', /id from list_calls/],
  ['get_call', 'in.include_ktas', /Key takeaways/],
  ['get_call', 'in.include_notes', /notes/],
  ['get_call', 'in.include_qa', /Questions with cleaned answers/],
  ['get_call', 'in.include_summary', /Summary/],
  ['get_call', 'in.include_transcript', /Verbatim transcript/],
  ['get_call', 'out.id', /call_id given.*transcript has the same id/],
  ['get_call', 'out.transcript_public_id', /Same as id/],
  ['get_call', 'out.anonymity_status', /not_requested, started, complete or errored/],
  ['get_call', 'out.anonymity_status', /Informational.*original identity is returned even when complete/],
  [
    'get_call',
    'out.call_status',
    /scheduled, reached_out, not_scheduled, done .* rescheduled, not_interested, canceled, candidate/,
  ],
  ['get_call', 'out.call_status', /done \(took place\)/],
  ['get_call', 'out.cost', /Spend, in the project's currency/],
  ['get_call', 'out.created_at', /record was created, not when the call took place/],
  ['get_call', 'out.date', /call took place/],
  ['get_call', 'out.duration_minutes', /null: unknown/],
  ['get_call', 'out.expert', /interviewee/],
  ['get_call', 'out.expert.name', /As recorded, never anonymized/],
  ['get_call', 'out.expert.organization', /Employer/],
  ['get_call', 'out.kta_approval_status', /pending: AI draft, not reviewed\. approved: reviewed/],
  ['get_call', 'out.kta_approval_status', /Absent if include_ktas is false/],
  ['get_call', 'out.ktas', /Key takeaways, Markdown; null: none/],
  ['get_call', 'out.ktas', /Absent if include_ktas is false/],
  ['get_call', 'out.notes', /user's own scratchpad/],
  ['get_call', 'out.notes', /Absent if include_notes is false/],
  ['get_call', 'out.qa_blocks', /Absent if include_qa is false/],
  ['get_call', 'out.qa_blocks.id', /UUID/],
  ['get_call', 'out.qa_blocks.answer', /Rewritten as a clean standalone statement/],
  ['get_call', 'out.segment', /project's label for this type of interviewee/],
  ['get_call', 'out.source', /Expert network or import label; free text/],
  ['get_call', 'out.summary', /By AI, Markdown/],
  ['get_call', 'out.summary', /Absent if include_summary is false/],
  ['get_call', 'out.transcript', /Verbatim\. Only if include_transcript is true/],
  ['list_calls', 'in.scope', /mine: calls the user conducted/],
  ['list_calls', 'in.scope', /all: every call the user can see: of projects, teammates, and the user's own without a project/],
  ['list_calls', 'in.scope', /project: deprecated alias of all/],
  ['list_calls', 'in.project_id', /narrows any scope to one project\. Absent: every accessible project/],
  ['list_calls', 'in.call_status', /Exact, case-sensitive/],
  [
    'list_calls',
    'in.call_status',
    /scheduled, reached_out, not_scheduled, done .* rescheduled, not_interested, canceled, candidate/,
  ],
  ['list_calls', 'in.call_type', /interview: with an expert\. meeting: internal or recorded/],
  ['list_calls', 'in.country', /whole, any case/],
  ['list_calls', 'in.job_title_contains', /Part of .* any case/],
  ['list_calls', 'in.organization_contains', /Part of .* any case/],
  ['list_calls', 'in.source_contains', /Part of .* any case/],
  ['list_calls', 'in.segment_contains', /Part of a segment name \(list_projects has them\), any case/],
  ['list_calls', 'in.min_cost', /project's currency/],
  ['list_calls', 'in.date_after', /Took place at or after/],
  ['list_calls', 'in.date_before', /Took place at or before/],
  ['list_calls', 'in.cursor', /next_cursor of the page before/],
  ['list_calls', 'out.calls.id', /Pass as call_id to get_call/],
  ['list_calls', 'out.calls.cost', /project's currency/],
  ['list_calls', 'out.calls.created_at', /Of the record, not the call/],
  ['list_calls', 'out.calls.date', /took place/],
  ['list_calls', 'out.calls.name', /original, not anonymized/],
  ['list_calls', 'out.calls.organization', /Interviewee's employer/],
  ['list_calls', 'out.next_cursor', /Opaque.*Pass as cursor.*null on the last/],
  ['list_entities', 'in.project_id', /id from list_projects/],
  ['list_entities', 'in.type', /absent: all/],
  ['list_entities', 'in.cursor', /next_cursor of the page before/],
  ['list_entities', 'out.entities.id', /UUID/],
  ['list_entities', 'out.entities.type', /company or product; usable as the filter type/],
  ['list_entities', 'out.entities.domain', /Web domain, where resolved/],
  ['list_entities', 'out.entities.created_at', /first recognized in the project/],
  ['list_entities', 'out.next_cursor', /Opaque.*Pass as cursor.*null on the last/],
  ['list_projects', 'in.scope', /mine: created or led by the user\. all: also where the user is a member/],
  ['list_projects', 'in.include_archived', /Also archived projects/],
  ['list_projects', 'in.cursor', /next_cursor of the page before/],
  ['list_projects', 'out.projects.id', /UUID; pass as project_id/],
  ['list_projects', 'out.projects.is_archived', /hidden unless include_archived is true/],
  ['list_projects', 'out.projects.role', /lead, member, or null: created it, never added/],
  ['list_projects', 'out.projects.sector', /Reserved; always null/],
  ['list_projects', 'out.projects.segments', /Labels of its calls/],
  ['list_projects', 'out.projects.summary', /Scope of the research/],
  ['list_projects', 'out.next_cursor', /Opaque.*Pass as cursor.*null on the last/],
];

/** Facts in the specification about a tool as a whole, and the words in the tool's description. */
const ABOUT: [tool: string, note: RegExp][] = [
  ['get_call', /summary, key takeaways, questions and answers.*the transcript only on request/],
  ['get_call', /Names and identity are original/],
  ['list_calls', /most recent first; no summaries or transcripts/],
  ['list_calls', /Filters combine with AND/],
  ['list_entities', /recognized in the calls of one project/],
  ['list_projects', /newest first/],
];

interface Schema {
  description?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
}

function schemaAt(name: string, path: string): Schema | undefined {
  const { inputSchema, outputSchema } = LISTED.find((each) => each.name === name)!;
  const [side, ...steps] = path.split('.');
  let schema: Schema | undefined = (side === 'in' ? inputSchema : outputSchema) as Schema;
  for (const step of steps) schema = (schema?.items ?? schema)?.properties?.[step];
  return schema;
}

it.each(NOTES)('%s has in the description of %s the fact from the specification: %s', (tool, path, note) => {
  expect(schemaAt(tool, path)?.description).toMatch(note);
});

it.each(ABOUT)('%s has in its own description: %s', (tool, note) => {
  expect(LISTED.find(({ name }) => name === tool)?.description).toMatch(note);
});
