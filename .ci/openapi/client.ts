/** Uses a client that is generated from the document alone: lists calls, reads one, creates a project. `run` generates its types, `openapi.d.ts`. */
import assert from 'node:assert/strict';
import createClient from 'openapi-fetch';
import type { components, paths } from './openapi.d.ts';

const [, , baseUrl, key] = process.argv;
assert(baseUrl !== undefined && key !== undefined, 'usage: client.ts BASE_URL KEY');
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

const ids: string[] = [];
for (let page = 1; ; page++) {
  const { data, error } = await client.GET('/calls', {
    params: { query: { start_date: '2025-01-01T00:00:00Z', end_date: '2030-01-01T00:00:00Z', page, per_page: 7 } },
  });
  assert(data, JSON.stringify(error));
  const { total_pages: pages, total_items: items } = data.pagination;
  ids.push(...data.data.map((call) => call.call_id));
  if (page < pages) continue;
  assert.equal(new Set(ids).size, items);
  break;
}
process.stdout.write(`listed ${ids.length} calls\n`);

const detail = await client.GET('/calls/{call_id}', {
  params: { path: { call_id: ids[0]! }, query: { include_verbatim: false } },
});
const call: components['schemas']['Call'] | undefined = detail.data;
assert(call !== undefined && call.call_id === ids[0], JSON.stringify(detail.error));
// Optional in the types, because the organization's settings decide which fields are present.
const rating: number | null | undefined = call.rating;
process.stdout.write(`read ${call.call_id}, rating ${rating ?? 'none'}, ${call.transcripts.length} transcripts\n`);

const { data: offices } = await client.GET('/billing-offices');
const office = offices?.data.find((candidate) => candidate.is_default)?.name;
const created = await client.POST('/projects', {
  params: { header: { 'Idempotency-Key': crypto.randomUUID() } },
  body: {
    name: 'Made by a generated client',
    lead_email: 'dana@northwind.example',
    ...(office && { billing_office_name: office }),
  },
});
assert.equal(created.response.status, 201, JSON.stringify(created.error));
const { data: project } = await client.GET('/projects/{project_id}', {
  params: { path: { project_id: created.data!.project_id } },
});
assert(project);
assert.deepEqual(project, created.data);
process.stdout.write(`created project ${project.project_id}, billed by ${project.billing_office_name ?? 'nobody'}\n`);

const refused = await client.GET('/calls', { params: { query: { start_date: 'nonsense', end_date: 'nonsense' } } });
assert.equal(refused.error?.error.code, 'bad_request');
process.stdout.write(`refused as documented: ${refused.error.error.message}\n`);
