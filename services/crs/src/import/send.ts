import { REASONS, ServiceError } from '@crs/kit/errors';
import { email, organizationId, parseLine, uuid } from '@crs/records/import-record';
import type { ImportError, ImportLine, ImportRecordsResponse } from '@crs/proto/crs/imports/v1/imports';
import { z } from 'zod';
import type { Connection } from '../connection.ts';
import { erase, type Target } from '../erasure.ts';
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
  const records: { number: number; target: Target }[] = [];
  const errors: ImportError[] = [];
  for (const { number, json } of lines) {
    const result = parseLine(deletionLine, json);
    if ('record' in result) records.push({ number, target: targetOf(result.record) });
    else errors.push({ line: number, ...result, holdId: '' });
  }
  return { records, errors };
}

async function eraseAll(connection: Connection, { organization, lines }: Batch): Promise<ImportRecordsResponse> {
  const { records, errors } = parseDeletions(lines);
  let accepted = 0;
  let unchanged = 0;
  for (const { number, target } of records) {
    try {
      if (await erase(connection, organization, target)) accepted++;
      else unchanged++;
    } catch (error) {
      errors.push(heldLine(number, error));
    }
  }
  return { accepted, unchanged, errors: errors.toSorted((a, b) => a.line - b.line) };
}

function targetOf(record: z.output<typeof deletionLine>): Target {
  return record.type === 'project' ? { $case: 'projectId', value: record.id } : { $case: 'email', value: record.email };
}

/** Returns the refusal of a deletion that a legal hold forbids. @throws any other error */
export function heldLine(line: number, error: unknown): ImportError {
  if (!(error instanceof ServiceError) || error.reason !== REASONS.legalHold) throw error;
  return { line, field: '', reason: error.message, holdId: '' };
}
