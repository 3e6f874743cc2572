/** Compares what is stored with what the file results in. */
import { isDeepStrictEqual } from 'node:util';
import type { Connection } from '@crs/crs/connection';
import { exportLines } from '@crs/testing/export';
import type { Call, Expected } from './lines.ts';

export interface Comparison {
  stored: number;
  lost: string[];
  different: string[];
  /** Calls that are stored twice, or that the file doesn't have. */
  surplus: string[];
}

/** Compares the export of an organization, as `crs export` prints it, with the calls that the file results in. */
export async function compareExport(operator: Connection, organization: string, expected: Expected): Promise<Comparison> {
  const calls = await exportCalls(operator, organization);
  const seen = new Set<string>();
  const result: Comparison = { stored: calls.length, lost: [], different: [], surplus: [] };
  for (const call of calls) {
    const wanted = expected.get(call.id);
    if (!wanted || seen.has(call.id)) result.surplus.push(call.id);
    else if (!isDeepStrictEqual(normalize(call), normalize(wanted))) result.different.push(call.id);
    seen.add(call.id);
  }
  for (const id of expected.keys()) if (!seen.has(id)) result.lost.push(id);
  return result;
}

export async function exportCalls(operator: Connection, organization: string): Promise<Call[]> {
  return ((await exportLines(operator, organization)) as Call[]).filter(({ type }) => type === 'call');
}

/** Removes what an export omits or adds: the organization, and absent values. */
function normalize(call: Call): object {
  return withoutEmpty({ ...call, organization: null });
}

function withoutEmpty(value: object): object {
  const kept = Object.entries(value).filter(([, each]) => each !== null && !(Array.isArray(each) && each.length === 0));
  return Object.fromEntries(
    kept.map(([name, each]) => [name, typeof each === 'object' && !Array.isArray(each) ? withoutEmpty(each as object) : each]),
  );
}

/** The number of calls that the list counts, and the number that the feed of changes returns. */
export async function countAtApi(api: string, key: string): Promise<{ listed: number; followed: number }> {
  const get = async (path: string) => {
    const response = await fetch(`${api}/v1/${path}`, { headers: { authorization: `Bearer ${key}` } });
    if (response.status !== 200) throw new Error(`${path} got ${response.status}: ${await response.text()}`);
    return response.json();
  };
  const list = await get('calls?start_date=2025-01-01T00:00:00Z&end_date=2100-01-01T00:00:00Z&per_page=1');
  const ids = new Set<string | null>();
  let cursor = '';
  for (;;) {
    const page = (await get(`changes?limit=1000${cursor}`)) as {
      data: { type: string; call_id: string | null }[];
      next_cursor: string;
      has_more: boolean;
    };
    for (const { type, call_id: id } of page.data) {
      if (type === 'call.changed') ids.add(id);
      else ids.delete(id);
    }
    if (!page.has_more) break;
    cursor = `&cursor=${page.next_cursor}`;
  }
  return { listed: (list as { pagination: { total_items: number } }).pagination.total_items, followed: ids.size };
}
