// Import lines for tests of the calls service, how to send them, and the REST details that they must become.

import { ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import type { CallOptions } from '@crs/kit/rpc/client';
import type { World } from '@crs/testing/world';

export const PROJECT = '11111111-2222-4333-8444-555555555555';

/** A `call` import line, loosely typed because tests also send bad ones. */
export interface CallLine {
  type: 'call';
  organization: string;
  id: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- any field of the format, right or wrong
  [field: string]: any;
}

export function callLine(organization: string, id: string, fields: object = {}): CallLine {
  return { type: 'call', organization, id, ...fields };
}

/** An organization with all fields allowed, a very high rate limit, users ann and bob, and a project. */
export function tenantRecords(id: string, settings: object = {}): object[] {
  const people = ['ann', 'bob'].map((name) => ({ type: 'user', organization: id, email: `${name}@crs.example`, name }));
  return [
    {
      type: 'organization',
      id,
      name: id,
      allowed_fields: ALLOWED_FIELDS,
      rate_limit: { requests: 1_000_000, period_seconds: 60 },
      ...settings,
    },
    ...people,
    { type: 'project', organization: id, id: PROJECT, name: 'Project', created_at: '2025-01-01T00:00:00Z' },
  ];
}

export type BatchLine = object | string | Buffer;

/** Sends a batch as `crs` does, but without its checks, so bad lines reach the service. @returns refusals as `line: field: reason` */
export async function sendBatch(world: World, organization: string, lines: BatchLine[], options: CallOptions = {}) {
  const batch = lines.map((line, i) => ({ number: i + 1, json: bytesOf(line), id: idOf(line) }));
  const { calls } = world.operator.importers;
  const { accepted, unchanged, errors } = await calls.importRecords(
    { lines: batch },
    { ...(await world.operator.operator(organization)), ...options },
  );
  return { accepted, unchanged, refused: errors.map(({ line, field, reason }) => `${line}: ${field}: ${reason}`) };
}

/** The id as `crs` reads it. */
function idOf(line: BatchLine): string {
  return typeof line === 'object' && 'id' in line ? String(line.id) : '';
}

function bytesOf(line: BatchLine): Buffer {
  return Buffer.isBuffer(line) ? line : Buffer.from(typeof line === 'string' ? line : JSON.stringify(line));
}

/** The REST detail of a line, with all fields enabled and names as recorded. */
export function detailOf(line: CallLine, times: { createdAt: Date; updatedAt: Date }) {
  const { expert = {}, participants, qa_blocks: blocks } = line;
  return {
    call_id: line.id,
    project_id: line['project_id'] ?? null,
    call_type: line['call_type'] ?? 'interview',
    call_status: line['call_status'] ?? null,
    anonymity_status: line['anonymity_status'] ?? null,
    date: line['date'] ? new Date(line['date']).toISOString() : null,
    created_at: times.createdAt.toISOString(),
    updated_at: times.updatedAt.toISOString(),
    duration_minutes: line['duration_minutes'] ?? null,
    segment: line['segment'] ?? null,
    source: line['source'] ?? null,
    rating: line['rating'] ?? null,
    cost: line['cost'] ?? null,
    interviewee: nullable(expert ?? {}, ['name', 'job_title', 'organization', 'country', 'bio']),
    participants: (participants ?? []).map((it: object) => nullable(it, ['name', 'role', 'email'])),
    summary: line['summary'] ?? null,
    key_takeaways: line['ktas'] ?? null,
    key_takeaways_status: line['kta_approval_status'] ?? null,
    qa_blocks: (blocks ?? []).map((it: object) => nullable(it, ['id', 'question', 'answer', 'section'])),
    transcripts: transcriptsOf(line),
  };
}

function transcriptsOf(line: CallLine) {
  const redacted = line['anonymity_status'] === 'complete' ? line['redacted_transcript'] : null;
  const recorded = [
    ['verbatim', line['transcript']],
    ['redacted', redacted],
  ].filter(([, content]) => content?.length > 0 || content === '');
  const entries = recorded.map(([kind, content]) => {
    const segments =
      typeof content === 'string' ? [] : content.map((it: object) => nullable(it, ['speaker', 'start_seconds', 'text']));
    const flat = segments
      .map((it: { speaker?: string; text?: string }) => (it.speaker ? `${it.speaker}: ${it.text}` : it.text))
      .join('\n');
    return { kind, language: line['language'] ?? null, text: typeof content === 'string' ? content : flat, segments };
  });
  const paragraphs = (line['qa_blocks'] ?? []).map(({ question, answer }: { question?: string | null; answer?: string | null }) =>
    [...(question == null ? [] : [`Q: ${question}`]), ...(answer == null ? [] : [`A: ${answer}`])].join('\n'),
  );
  const clean = paragraphs.filter((it: string) => it !== '').join('\n\n');
  return [
    ...entries,
    ...(clean === '' ? [] : [{ kind: 'clean', language: line['language'] ?? null, text: clean, segments: [] }]),
  ];
}

function nullable(value: object, keys: string[]): Record<string, unknown> {
  return Object.fromEntries(keys.map((key) => [key, (value as Record<string, unknown>)[key] ?? null]));
}
