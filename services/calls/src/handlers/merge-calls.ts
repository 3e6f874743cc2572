import type { Query } from '@crs/kit/data/database';
import type { DescribeReferencesRequest, DescribeReferencesResponse } from '@crs/proto/crs/auth/v1/auth';
import { applyMerges, mergedIds, segmentsOf } from '@crs/records/apply-merges';
import type { NumberedRecord } from '@crs/records/import-batch';
import type { Merge } from '@crs/records/merge';
import type { CallDeletion } from '../domain/call-record.ts';
import type { PreparedCall, StagedCall } from '../domain/changes.ts';
import { findCalls, findLengths } from '../store/export-calls.ts';
import { lineReader } from '../store/prepare-call.ts';
import { describe, linesOf } from './export-lines.ts';

type Line = NumberedRecord<CallDeletion | StagedCall | Merge>;

export async function splitBatch(query: Query, organization: string, lines: Line[]): Promise<Line[][]> {
  const ids = mergedIds(lines);
  const rows = ids.length > 0 ? await query(findLengths(organization, ids)) : [];
  return segmentsOf(lines, ({ callId }) => callId, new Map(rows.map(({ id, length }) => [id, length])));
}

/** Turns the merges of a segment into whole calls. Must run under the import lock, so that no other import changes the calls meanwhile. */
export async function mergeCalls(
  query: Query,
  organization: string,
  segment: Line[],
  describeReferences: (request: DescribeReferencesRequest) => Promise<DescribeReferencesResponse>,
) {
  const ids = mergedIds(segment);
  const calls = ids.length > 0 ? await query(findCalls(organization, ids)) : [];
  const { emails } = await describe(calls, describeReferences);
  const lines = await linesOf(organization, calls, emails);
  return applyMerges<CallDeletion | PreparedCall | StagedCall | Merge>(
    segment,
    new Map(calls.map(({ callId }, i) => [callId, lines[i]!])),
    lineReader,
  );
}
