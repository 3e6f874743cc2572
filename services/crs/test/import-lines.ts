// Runs `crs import` in this process against a fake service, and makes records of each type for it.

import type { RefusedLine } from '../src/import/route.ts';
import { run, type Progress, type Send } from '../src/import/run.ts';

async function* streamOf(lines: (object | string)[], chunkSize = 64 * 1024): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'));
  for (let at = 0; at < bytes.length; at += chunkSize) yield bytes.subarray(at, at + chunkSize);
}

/** Imports records, or lines given as text. @returns the summary, and all refusals and progress reports */
export async function importLines(lines: (object | string)[], send: Send) {
  const refused: RefusedLine[] = [];
  const progress: Progress[] = [];
  const summary = await run(streamOf(lines), send, {
    refused: (refusal) => refused.push(refusal),
    progress: (now) => progress.push({ ...now }),
  });
  return { summary, refused, progress };
}

/** A service that accepts each batch, and the service, organization and line numbers of each one in `sent`. */
export function recorder() {
  const sent: [string, string, number[]][] = [];
  const send: Send = async ({ service, organization, lines }) => {
    sent.push([service, organization, lines.map(({ number }) => number)]);
    return { accepted: lines.length, unchanged: 0, errors: [] };
  };
  return { sent, send };
}

export const org = (id: string) => ({ type: 'organization', id });
export const user = (organization: string, email: string, more = {}) => ({ type: 'user', organization, email, ...more });
export const project = (organization: string, id: string, members: string[] = [], more = {}) => ({
  type: 'project',
  organization,
  id,
  members,
  ...more,
});
export const call = (organization: string, id: string, references: { project?: string; user?: string } = {}, more = {}) => ({
  type: 'call',
  organization,
  id,
  ...references,
  ...more,
});
export const office = (organization: string, id: string) => ({ type: 'billing_office', organization, id });
export const entity = (organization: string, id: string, projectId: string, more = {}) => ({
  type: 'entity',
  organization,
  id,
  project: projectId,
  ...more,
});
