import type { Query } from '@crs/kit/data/database';
import { callerScope } from '@crs/kit/data/scope';
import {
  type BatchCall,
  type BatchMode,
  importRpcs,
  isCommitted,
  isRefused,
  type NumberedRecord,
  readBatch,
  refused,
  sortByLine,
  type Stored,
} from '@crs/records/import-batch';
import { MovedRecords } from '@crs/records/feed/moved';
import { lockImports } from '@crs/records/lock-imports';
import type { Merge } from '@crs/records/merge';
import { missing } from '@crs/records/missing-reference';
import type { RecordContext } from '@crs/records/record-service';
import { transactIf } from '@crs/records/transact-if';
import { ServiceError } from '@crs/kit/errors';
import type { ImportError, ImportLine } from '@crs/proto/crs/imports/v1/imports';
import { lineReader, type BillingOfficeRecord, type ProjectRecord } from '../domain/import-records.ts';
import { feed } from '../store/feed.ts';
import { storeOffices, storeProjects, supposeOffices, type Batch } from './store-projects.ts';

type AnyRecord = BillingOfficeRecord | ProjectRecord | Merge;
type Lines = NumberedRecord<AnyRecord>[];

export function imports({ importDb, auth }: RecordContext) {
  /** Stores lines in one transaction. */
  const storeLines = async (lines: Lines, errors: ImportError[], call: BatchCall, mode: BatchMode): Promise<Stored> => {
    const scope = callerScope(call);
    const { check, supposed } = mode;
    const work = async (query: Query) => {
      const counts = { accepted: 0, unchanged: 0, created: 0, errors: [...errors] };
      const [lock] = await query(lockImports('projects', scope.organization));
      const { organizationExists } = await auth.resolveReferences({ emails: [], projectIds: [] }, call);
      if (!organizationExists) {
        const unknown = lines.map(({ number }) => refused(number, missing('organization', 'organization')));
        return { ...counts, errors: sortByLine([...errors, ...unknown]) };
      }
      const batch: Batch = {
        query,
        organization: scope.organization,
        time: lock!.now,
        moved: new MovedRecords(),
        supposed: new Set(supposed.projectIds),
        counts,
        putGrants: async (grants) =>
          (await auth.putProjectGrants({ grants, check, supposedEmails: supposed.emails }, call)).outcomes,
      };
      if (check) await supposeOffices(batch, supposed.billingOffices);
      // In the order of the file: a project may name an office of an earlier line, but not one of a later line.
      for (const run of runsOfOneType(lines)) {
        if (isOffices(run)) await storeOffices(batch, run);
        else await storeProjects(batch, run as NumberedRecord<ProjectRecord | Merge>[]);
      }
      await feed.append(query, batch.organization, batch.moved.at(batch.time), batch.time);
      return { ...counts, errors: sortByLine(counts.errors) };
    };
    return transactIf(importDb, scope, work, (stored) => isCommitted(mode, stored));
  };

  const store = async (batch: ImportLine[], call: BatchCall, mode: BatchMode): Promise<Stored> => {
    const { lines, errors } = await readBatch(batch, lineReader, callerScope(call), mode);
    if (lines.length === 0 || isRefused(mode, errors))
      return { accepted: 0, unchanged: 0, created: 0, errors: sortByLine(errors) };
    if (!mode.abort) return storeLines(lines, errors, call, mode);
    // Rolling back wouldn't undo the grants in auth, so all lines are checked before the first grant.
    const checked = await storeLines(lines, errors, call, { ...mode, check: true });
    if (mode.check || checked.errors.length > 0) return checked;
    const stored = await storeLines(lines, errors, call, mode);
    if (stored.errors.length > 0)
      throw new ServiceError('aborted', 'The records to which the lines refer were changed meanwhile. Send the batch again.');
    return stored;
  };

  const { recordAudit: record, recordKeyAction } = auth;
  return importRpcs({ service: 'projects', record, recordKeyAction, reader: lineReader, store });
}

function runsOfOneType(lines: Lines): Lines[] {
  const runs: Lines[] = [];
  for (const line of lines) {
    const last = runs.at(-1);
    if (last && isOffices(last) === isOffices([line])) last.push(line);
    else runs.push([line]);
  }
  return runs;
}

function isOffices(run: Lines): run is NumberedRecord<BillingOfficeRecord>[] {
  const { record } = run[0]!;
  return 'type' in record && record.type === 'billing_office';
}
