import { isDeepStrictEqual } from 'node:util';
import type { Query } from '@crs/kit/data/database';
import { callerScope } from '@crs/kit/data/scope';
import { importRpcs, type NumberedRecord, readBatch, refused, sortByLine } from '@crs/records/import-batch';
import { lockImports } from '@crs/records/lock-imports';
import { missing } from '@crs/records/missing-reference';
import type { RecordContext } from '@crs/records/record-service';
import type { GrantOutcome, ProjectGrant } from '@crs/proto/crs/auth/v1/auth';
import type { ImportError } from '@crs/proto/crs/imports/v1/imports';
import { lineReader, type BillingOfficeRecord, type ProjectRecord } from '../domain/import-records.ts';
import { listBillingOffices, putBillingOffice } from '../store/billing-offices.ts';
import { findProjects, putProjects, type ProjectRow } from '../store/projects.ts';

const MAX_MEMBERS_PER_CALL = 2_000;

interface Counts {
  accepted: number;
  unchanged: number;
  errors: ImportError[];
}

export function imports({ importDb, auth }: RecordContext) {
  return importRpcs('projects', auth.recordAudit, lineReader, async (batch, call) => {
    const scope = callerScope(call);
    const { lines, errors } = await readBatch(batch, lineReader, scope);
    const counts: Counts = { accepted: 0, unchanged: 0, errors };
    if (lines.length === 0) return { ...counts, errors: sortByLine(errors) };
    return importDb.transact(scope, async (query) => {
      const [lock] = await query(lockImports('projects', scope.organization));
      const { organizationExists } = await auth.resolveReferences({ emails: [], projectIds: [] }, call);
      if (!organizationExists) {
        const unknown = lines.map(({ number }) => refused(number, missing('organization', 'organization')));
        return { ...counts, errors: sortByLine([...errors, ...unknown]) };
      }
      // In the order of the file: a project may name an office of an earlier line, but not one of a later line.
      const putGrants = async (grants: ProjectGrant[]) => (await auth.putProjectGrants({ grants, check: false, supposedEmails: [] }, call)).outcomes;
      for (const run of runsOfOneType(lines)) {
        if (isOffices(run)) await storeOffices(query, run, counts);
        else await storeProjects(query, putGrants, run as NumberedRecord<ProjectRecord>[], lock!.now, counts);
      }
      return { ...counts, errors: sortByLine(counts.errors) };
    });
  });
}

type AnyRecord = NumberedRecord<BillingOfficeRecord | ProjectRecord>;

function runsOfOneType(lines: AnyRecord[]): AnyRecord[][] {
  const runs: AnyRecord[][] = [];
  for (const line of lines) {
    const last = runs.at(-1);
    if (last?.[0]!.record.type === line.record.type) last.push(line);
    else runs.push([line]);
  }
  return runs;
}

function isOffices(run: AnyRecord[]): run is NumberedRecord<BillingOfficeRecord>[] {
  return run[0]!.record.type === 'billing_office';
}

async function storeOffices(query: Query, lines: NumberedRecord<BillingOfficeRecord>[], counts: Counts): Promise<void> {
  for (const { record } of lines) {
    const changed = await putBillingOffice(query, record.organization, { name: record.name, isDefault: record.is_default });
    if (changed) counts.accepted++;
    else counts.unchanged++;
  }
}

/** Stores the grants in auth before the projects, so that no project exists without the people who may see it. */
async function storeProjects(
  query: Query,
  putGrants: (grants: ProjectGrant[]) => Promise<GrantOutcome[]>,
  lines: NumberedRecord<ProjectRecord>[],
  time: Date,
  counts: Counts,
): Promise<void> {
  const { organization } = lines[0]!.record;
  const offices = new Set((await query(listBillingOffices(organization))).map((office) => office.name));
  const known = lines.filter(({ number, record }) => {
    if (record.billing_office_name === null || offices.has(record.billing_office_name)) return true;
    counts.errors.push(refused(number, missing('billing_office', 'billing_office_name')));
    return false;
  });
  const outcomes: GrantOutcome[] = [];
  for (const group of byMembers(known)) outcomes.push(...(await putGrants(group.map(({ record }) => toGrant(record)))));
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
    }
    if (differs || changed) counts.accepted++;
    else counts.unchanged++;
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
