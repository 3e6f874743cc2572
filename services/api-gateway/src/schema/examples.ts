/** Example bodies for the document. A test validates them against the schemas. */

const PROJECT_ID = '6f1d3c52-8a0e-4b57-9d1c-2e7f40a9b813';

export const CALL_LIST = {
  data: [
    {
      call_id: 'call_8kq2',
      duration_minutes: 54,
      created_at: '2026-03-12T14:30:00.000Z',
      updated_at: '2026-03-13T08:02:11.340Z',
      date: '2026-03-12T15:00:00.000Z',
      call_type: 'interview',
      call_status: 'done',
      project_id: PROJECT_ID,
      segment: 'Customers',
      source: 'Expert network',
      has_transcript: true,
    },
    {
      call_id: 'call_8kq1',
      duration_minutes: null,
      created_at: '2026-03-11T09:05:42.118Z',
      updated_at: '2026-03-11T09:05:42.118Z',
      date: null,
      call_type: 'meeting',
      call_status: 'scheduled',
      project_id: null,
      segment: null,
      source: null,
      has_transcript: false,
    },
  ],
  pagination: { page: 1, per_page: 50, total_items: 2, total_pages: 1 },
};

export const EMPTY_CALL_LIST = { data: [], pagination: { page: 1, per_page: 50, total_items: 0, total_pages: 1 } };

const QUESTION = 'What makes a hospital pharmacy pay more for reusable boxes?';
const ANSWER = 'Fewer rejected deliveries: a validated box that logs its temperature replaces a manual check on arrival.';

export const CALL = {
  call_id: 'call_8kq2',
  project_id: PROJECT_ID,
  call_type: 'interview',
  call_status: 'done',
  anonymity_status: 'not_requested',
  date: '2026-03-12T15:00:00.000Z',
  created_at: '2026-03-12T14:30:00.000Z',
  updated_at: '2026-03-13T08:02:11.340Z',
  duration_minutes: 54,
  segment: 'Customers',
  source: 'Expert network',
  rating: 4,
  interviewee: {
    name: 'Expert 7Q3MZK4D',
    job_title: 'Head of logistics',
    organization: 'Sundhavn Hospital Pharmacy',
    country: 'Denmark',
    bio: 'Runs inbound logistics for a group of five hospital pharmacies.',
  },
  participants: [
    { name: 'Expert 7Q3MZK4D', role: 'Expert' },
    { name: 'Dana Whitfield', role: 'Lead' },
  ],
  summary: 'The pharmacy pays a **premium of 8 to 12%** where boxes log their temperature.',
  key_takeaways: '- The premium is paid for fewer rejected deliveries.\n- Returns work where one carrier does both ways.',
  key_takeaways_status: 'approved',
  qa_blocks: [{ id: '0b5c8c1e-6a5f-4d0b-8f7e-2f6f1a3c9d42', question: QUESTION, answer: ANSWER, section: 'Pricing' }],
  transcripts: [
    {
      kind: 'verbatim',
      language: 'en',
      text: 'Dana Whitfield: What would you pay for?\nExpert 7Q3MZK4D: For a box that I need not check.',
      segments: [
        { speaker: 'Dana Whitfield', start_seconds: 12.4, text: 'What would you pay for?' },
        { speaker: 'Expert 7Q3MZK4D', start_seconds: 15, text: 'For a box that I need not check.' },
      ],
    },
    { kind: 'clean', language: 'en', text: `Q: ${QUESTION}\nA: ${ANSWER}`, segments: [] },
  ],
};

/** The same call for an organization with few allowed fields. */
export const CALL_WITH_FEW_FIELDS = {
  ...Object.fromEntries(
    Object.entries(CALL).filter(
      ([key]) =>
        !['segment', 'source', 'rating', 'participants', 'key_takeaways', 'key_takeaways_status', 'qa_blocks'].includes(key),
    ),
  ),
  interviewee: { job_title: CALL.interviewee.job_title, country: CALL.interviewee.country },
  transcripts: [],
};

export const CALL_DETAIL_LIST = { data: [CALL], pagination: { page: 1, per_page: 25, total_items: 1, total_pages: 1 } };

const CURSOR = 'q83vEjRWeJASNFZ4mrze8AECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8';

export const CHANGES = {
  data: [
    { type: 'call.changed', call_id: 'call_8kq2', changed_at: '2026-03-13T08:02:11.340Z' },
    { type: 'call.deleted', call_id: 'call_8kq1', changed_at: '2026-03-13T09:00:00.000Z' },
  ],
  next_cursor: CURSOR,
  has_more: false,
};

export const DETAILED_CHANGES = {
  data: [
    { type: 'access.changed', call_id: null, changed_at: '2026-03-14T07:30:00.000Z' },
    { type: 'call.changed', call_id: 'call_8kq2', changed_at: '2026-03-13T08:02:11.340Z', call: CALL },
  ],
  next_cursor: CURSOR,
  has_more: true,
};

const ENTITY_ID = '3c7a1f0e-52d4-4f6b-8a19-b0d2c4e6f813';

const PROJECT_LIST_ITEM = {
  project_id: PROJECT_ID,
  name: 'Reusable packaging for cold chains',
  summary: 'Who pays a premium for reusable shippers, and whether they come back.',
  status: 'active',
  is_archived: false,
  created_at: '2026-03-12T14:30:00.000Z',
  billing_office_name: 'London',
};

export const PROJECTS = {
  data: [
    PROJECT_LIST_ITEM,
    {
      project_id: '1f8d2b64-90c3-4e57-a2b8-64d0c3f1e972',
      name: 'Pallet pooling',
      summary: null,
      status: null,
      is_archived: true,
      created_at: '2025-11-03T09:12:40.000Z',
      billing_office_name: null,
    },
  ],
  next_cursor: null,
};

const ENTITY = {
  entity_id: ENTITY_ID,
  project_id: PROJECT_ID,
  name: 'Kuldboks',
  type: 'company',
  category: 'Packaging',
  competitor_tier: 'Tier 1',
  is_competitor: true,
  description: 'Makes reusable boxes that log their temperature.',
  overview: 'Two pharmacies name it as their first choice.',
  domain: 'kuldboks.example',
  created_at: '2026-03-12T16:05:21.000Z',
};

export const ENTITIES = { data: [ENTITY], next_cursor: null };

export const CHANGES_OF_TYPES = {
  data: [
    { type: 'project.changed', project_id: PROJECT_ID, changed_at: '2026-03-12T14:30:00.000Z', project: PROJECT_LIST_ITEM },
    { type: 'entity.changed', entity_id: ENTITY_ID, changed_at: '2026-03-12T16:05:21.000Z', entity: ENTITY },
    { type: 'entity.deleted', entity_id: '77e0b1c4-3d2f-4a86-9b05-1c8f6a4d2e90', changed_at: '2026-03-13T09:00:00.000Z' },
    { type: 'call.changed', call_id: 'call_8kq2', changed_at: '2026-03-13T08:02:11.340Z', call: CALL },
  ],
  next_cursor: `${CURSOR}.${CURSOR}.${CURSOR}`,
  has_more: false,
};

export const BILLING_OFFICES = {
  data: [
    { name: 'London', is_default: true },
    { name: 'New York', is_default: false },
  ],
};

export const NEW_PROJECT = {
  name: 'Reusable packaging for cold chains',
  lead_email: 'dana@northwind.example',
  member_emails: ['marcus@northwind.example'],
  billing_office_name: 'London',
  summary: 'Who pays a premium for reusable shippers, and whether they come back.',
};

export const PROJECT = {
  project_id: PROJECT_ID,
  name: NEW_PROJECT.name,
  summary: NEW_PROJECT.summary,
  status: 'active',
  created_at: '2026-03-12T14:30:00.000Z',
  lead: { name: 'Dana Whitfield', email: 'dana@northwind.example' },
  members: [{ name: 'Marcus Oyelaran', email: 'marcus@northwind.example' }],
  billing_office_name: 'London',
};
