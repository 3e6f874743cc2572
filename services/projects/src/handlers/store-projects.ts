/** Stores the lines of a batch within its transaction. */
import { isDeepStrictEqual } from 'node:util';
import type { Query } from '@crs/kit/data/database';
import type { GrantOutcome, ProjectGrant } from '@crs/proto/crs/auth/v1/auth';
import { applyMerges, mergedIds, segmentsOf } from '@crs/records/apply-merges';
import type { MovedRecords } from '@crs/records/feed/moved';
import { type NumberedRecord, refused, type Stored } from '@crs/records/import-batch';
import { isMerge, type Merge } from '@crs/records/merge';
import { missing } from '@crs/records/missing-reference';
import { exportLine } from './export-line.ts';
import { lineReader, officeName, type BillingOfficeRecord, type ProjectRecord } from '../domain/import-records.ts';
import { listBillingOffices, putBillingOffice } from '../store/billing-offices.ts';
import { findLengths, findProjects, putProjects, type ProjectRow } from '../store/projects.ts';

const MAX_MEMBERS_PER_CALL = 2_000;

/** A batch whose lines are being stored. */
export interface Batch {
  query: Query;
  organization: string;
  /** The time of the import. */
  time: Date;
  /** The projects that are written, for the feed of changes. */
  moved: MovedRecords;
  /** Ids of projects that a check takes for stored. */
  supposed: ReadonlySet<string>;
  counts: Stored;
  putGrants: (grants: ProjectGrant[]) => Promise<GrantOutcome[]>;
}

type ProjectLines = NumberedRecord<ProjectRecord>[];
type MergeableLines = NumberedRecord<ProjectRecord | Merge>[];

/** Stores the offices that a check takes for stored. Its transaction is rolled back. */
export async function supposeOffices({ query, organization }: Batch, names: string[]): Promise<void> {
  for (const name of names) {
    if (officeName.safeParse(name).success) await putBillingOffice(query, organization, { name, isDefault: undefined });
  }
}

export async function storeOffices({ query, counts }: Batch, lines: NumberedRecord<BillingOfficeRecord>[]): Promise<void> {
  for (const { record } of lines) {
    const outcome = await putBillingOffice(query, record.organization, { name: record.name, isDefault: record.is_default });
    if (outcome === 'unchanged') counts.unchanged++;
    else counts.accepted++;
    if (outcome === 'created') counts.created++;
  }
}

export async function storeProjects(batch: Batch, lines: MergeableLines): Promise<void> {
  const { query, organization, counts } = batch;
  const ids = mergedIds(lines);
  const rows = ids.length > 0 ? await query(findLengths(organization, ids)) : [];
  const lengths = new Map(rows.map(({ id, length }) => [id, length]));
  for (const segment of segmentsOf(lines, ({ id }) => id, lengths)) {
    const merged = await applyMerges(segment, await linesOf(batch, mergedIds(segment)), lineReader);
    counts.errors.push(...merged.errors);
    await storeWhole(batch, merged.lines as ProjectLines, keptOf(segment));
  }
}

/** Returns the stored projects as lines, without their people, whom auth stores. */
async function linesOf({ query, organization, supposed }: Batch, ids: string[]): Promise<Map<string, Uint8Array>> {
  const rows = ids.length > 0 ? await query(findProjects(organization, ids)) : [];
  const stored: [string, object][] = rows.map((row) => [row.projectId, exportLine(organization, row, { members: [] })]);
  const others = ids.filter((id) => supposed.has(id)).map((id): [string, object] => [id, { type: 'project', organization, id }]);
  return new Map([...others, ...stored].map(([id, line]) => [id, Buffer.from(JSON.stringify(line))]));
}

type Kept = Pick<ProjectGrant, 'keepCreatedBy' | 'keepMembers'>;

/** What merges leave as auth has it, by number of the line. */
function keptOf(segment: MergeableLines): Map<number, Kept> {
  return new Map(
    segment.flatMap(({ number, record }) =>
      isMerge(record)
        ? [
            [
              number,
              { keepCreatedBy: !record.properties.includes('created_by'), keepMembers: !record.properties.includes('members') },
            ],
          ]
        : [],
    ),
  );
}

/** Stores the grants in auth before the projects, so that no project exists without the people who may see it. */
async function storeWhole(batch: Batch, lines: ProjectLines, kept: Map<number, Kept>): Promise<void> {
  const { query, organization, time, moved, supposed, counts, putGrants } = batch;
  const offices = new Set((await query(listBillingOffices(organization))).map((office) => office.name));
  const known = lines.filter(({ number, record }) => {
    if (record.billing_office_name === null || offices.has(record.billing_office_name)) return true;
    counts.errors.push(refused(number, missing('billing_office', 'billing_office_name')));
    return false;
  });
  const outcomes: GrantOutcome[] = [];
  for (const group of byMembers(known))
    outcomes.push(...(await putGrants(group.map(({ number, record }) => ({ ...toGrant(record), ...kept.get(number) })))));
  const stored = await query(findProjects(organization, [...new Set(known.map(({ record }) => record.id))]));
  const rows = new Map(stored.map((row) => [row.projectId, row]));
  const written = new Set<string>();
  for (const [index, { number, record }] of known.entries()) {
    const { changed, refusedField, refusedReason } = outcomes[index]!;
    if (refusedField !== '') {
      counts.errors.push(refused(number, { field: refusedField, reason: refusedReason }));
      continue;
    }
    const before = rows.get(record.id);
    const row = toRow(record, before, time);
    const differs = !isDeepStrictEqual(before, row);
    if (differs) {
      rows.set(record.id, row);
      written.add(record.id);
      moved.change(record.id, before !== undefined);
    }
    if (differs || changed) counts.accepted++;
    else counts.unchanged++;
    if (!before && !supposed.has(record.id)) counts.created++;
  }
  await query(
    putProjects(
      organization,
      Array.from(written, (id) => rows.get(id)!),
    ),
  );
}

/** Splits lines into groups of bounded membership, because auth resolves the members of a call in one turn of its event loop. */
function* byMembers(lines: NumberedRecord<ProjectRecord>[]): Generator<NumberedRecord<ProjectRecord>[]> {
  let group: NumberedRecord<ProjectRecord>[] = [];
  let members = 0;
  for (const line of lines) {
    const added = line.record.members.length;
    if (group.length > 0 && members + added > MAX_MEMBERS_PER_CALL) {
      yield group;
      group = [];
      members = 0;
    }
    group.push(line);
    members += added;
  }
  yield group;
}

function toGrant({ id, created_by: createdBy, members }: ProjectRecord): ProjectGrant {
  return {
    projectId: id,
    createdBy: createdBy ?? undefined,
    members: members.map(({ email, role }) => ({ email, lead: role === 'lead' })),
  };
}

function toRow(record: ProjectRecord, before: ProjectRow | undefined, time: Date): ProjectRow {
  return {
    projectId: record.id,
    name: record.name,
    summary: record.summary,
    status: record.status,
    isArchived: record.is_archived,
    createdAt: record.created_at ?? before?.createdAt ?? time,
    billingOfficeName: record.billing_office_name,
  };
}
