import { email, organizationId, parseLine, uuid } from '@crs/records/import-record';
import type { ImportRecordsResponse } from '@crs/proto/crs/imports/v1/imports';
import { z } from 'zod';
import type { Connection } from '../connection.ts';
import { erase } from '../erasure.ts';
import type { retrying } from '../retry.ts';
import type { EarlierIndex } from './earlier.ts';
import type { Batch, Send } from './run.ts';

/** Sends batches to the services that own the records, and carries out deletions that span services. */
export function sender(connection: Connection): Send {
  return async (batch) => {
    if (batch.service === 'erasure') return eraseAll(connection, batch);
    return connection.importers[batch.service].importRecords(
      { lines: batch.lines },
      await connection.operator(batch.organization),
    );
  };
}

/** Checks batches as if the earlier lines of the file had been stored. Nothing is stored. */
export function checker(connection: Connection, index: EarlierIndex, retried: typeof retrying): Send {
  const check = retried(async (batch: Batch) => {
    if (batch.service === 'erasure') return checkDeletions(batch);
    return connection.importers[batch.service].checkRecords(
      { lines: batch.lines, earlier: index.of(batch) },
      await connection.operator(batch.organization),
    );
  });
  return async (batch) => {
    const answer = await check(batch);
    index.note(batch, new Set(answer.errors.map(({ line }) => line)));
    return answer;
  };
}

/** A line that deletes what spans services. */
export const deletionLine = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('project'), organization: organizationId, id: uuid, deleted: z.literal(true) }),
  z.strictObject({ type: z.literal('user'), organization: organizationId, email, deleted: z.literal(true) }),
]);

/** Whether the users and projects exist isn't asked: no answer refuses a line. */
function checkDeletions({ lines }: Batch): ImportRecordsResponse {
  const errors = lines.flatMap(({ number, json }) => {
    const result = parseLine(deletionLine, json);
    return 'record' in result ? [] : { line: number, ...result };
  });
  return { accepted: lines.length - errors.length, unchanged: 0, errors };
}

async function eraseAll(connection: Connection, { organization, lines }: Batch): Promise<ImportRecordsResponse> {
  const answer: ImportRecordsResponse = { accepted: 0, unchanged: 0, errors: [] };
  for (const { number, json } of lines) {
    const result = parseLine(deletionLine, json);
    if (!('record' in result)) {
      answer.errors.push({ line: number, ...result });
      continue;
    }
    const { record } = result;
    const found = await erase(
      connection,
      organization,
      record.type === 'project' ? { $case: 'projectId', value: record.id } : { $case: 'email', value: record.email },
    );
    if (found) answer.accepted++;
    else answer.unchanged++;
  }
  return answer;
}
