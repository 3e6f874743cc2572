import { email, organizationId, parseLine, uuid } from '@crs/records/import-record';
import type { ImportError, ImportLine, ImportRecordsResponse } from '@crs/proto/crs/imports/v1/imports';
import { z } from 'zod';
import type { Connection } from '../connection.ts';
import { erase } from '../erasure.ts';
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

/** A line that deletes what spans services. */
export const deletionLine = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('project'), organization: organizationId, id: uuid, deleted: z.literal(true) }),
  z.strictObject({ type: z.literal('user'), organization: organizationId, email, deleted: z.literal(true) }),
]);

/** Parses lines that delete users and projects. It is not an error if these don't exist. */
export function parseDeletions(lines: ImportLine[]) {
  const records: z.output<typeof deletionLine>[] = [];
  const errors: ImportError[] = [];
  for (const { number, json } of lines) {
    const result = parseLine(deletionLine, json);
    if ('record' in result) records.push(result.record);
    else errors.push({ line: number, ...result });
  }
  return { records, errors };
}

async function eraseAll(connection: Connection, { organization, lines }: Batch): Promise<ImportRecordsResponse> {
  const { records, errors } = parseDeletions(lines);
  let accepted = 0;
  for (const record of records) {
    const found = await erase(
      connection,
      organization,
      record.type === 'project' ? { $case: 'projectId', value: record.id } : { $case: 'email', value: record.email },
    );
    if (found) accepted++;
  }
  return { accepted, unchanged: records.length - accepted, errors };
}
