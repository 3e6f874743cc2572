/** Example bodies of requests that send records. A test validates them against the schemas. */
import { PROJECT } from './examples.ts';

const MEMBERS = [{ email: PROJECT.lead.email, role: 'lead' }];

export const CALL_RECORD = {
  project_id: PROJECT.project_id,
  conducted_by: PROJECT.lead.email,
  call_status: 'done',
  date: '2026-03-12T15:00:00Z',
  duration_minutes: 54,
  expert: { name: 'Eva Smith', job_title: 'Head of logistics' },
  participants: [{ name: 'Dana Whitfield', role: 'Lead' }],
  transcript: [{ speaker: 'Eva Smith', start_seconds: 12.4, text: 'We pay for fewer rejected deliveries.' }],
  language: 'en',
};

export const CALL_CHANGE = { ktas: '- The premium is paid for fewer rejected deliveries.', kta_approval_status: 'approved' };

const LINES = [
  { type: 'project', id: PROJECT.project_id, name: PROJECT.name, members: MEMBERS },
  { type: 'call', id: 'call_8kq2', ...CALL_RECORD },
  { type: 'call', id: 'call_8kq1', merge: true, ...CALL_CHANGE },
  { type: 'call', id: 'call_8kq0', deleted: true },
];

export const RECORD_LINES = LINES.map((line) => `${JSON.stringify(line)}\n`).join('');

export const RECORDS_RESULT = { lines: 4, accepted: 3, unchanged: 1, refused: 0, errors: [] };

export const RECORDS_REFUSED = {
  lines: 4,
  accepted: 3,
  unchanged: 0,
  refused: 1,
  errors: [{ line: 3, field: 'id', reason: 'must be a call of this organization' }],
};
