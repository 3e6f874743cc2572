import type { Response } from 'express';
import { parseUuid } from '@crs/kit/text';
import { callOf } from '@crs/kit/http/request';
import type { PutRecordsResponse, Supposed } from '@crs/proto/crs/imports/v1/imports';
import { authenticatedOf } from '../http/authentication.ts';
import type { Context } from '../route.ts';
import { serialize } from './records-client.ts';
import { toLineError, withOrganization, type LineError, type RecordType, type RoutedLine } from './route-lines.ts';

export interface PutMode {
  /** Store nothing if a line is refused. */
  abort: boolean;
  /** Store nothing, but respond as if the lines were stored. */
  check: boolean;
}

export interface PutResult {
  accepted: number;
  unchanged: number;
  created: number;
  errors: LineError[];
  /** The legal hold that refused a line. */
  holdId: string | undefined;
}

/**
 * Stores lines in order. Adjacent lines of one type are sent to their service together, which stores them in one transaction.
 * @throws ServiceError if a service fails; earlier lines may be stored
 */
export async function putRuns(context: Context, response: Response, lines: RoutedLine[], mode: PutMode): Promise<PutResult> {
  const { credential, address } = authenticatedOf(response)!;
  const call = callOf(response);
  const supposed: Supposed = { emails: [], projectIds: [], billingOffices: [] };
  const result: PutResult = { accepted: 0, unchanged: 0, created: 0, errors: [], holdId: undefined };
  for (const run of runsOf(lines)) {
    const { type } = run[0]!;
    const request = await serialize({
      ...mode,
      lines: run.map((line) => ({
        number: line.number,
        json: withOrganization(line, credential.organizationId),
        id: keyOf(line),
      })),
      supposed: mode.check ? supposed : undefined,
      address,
    });
    const service = SERVICES[type];
    // Auth accepts the caller token of any service.
    const token = credential.callerTokens[service === 'auth' ? 'projects' : service];
    const { accepted, unchanged, created, errors } = await context.records[service].putRecords(request, { ...call, token });
    result.accepted += accepted;
    result.unchanged += unchanged;
    result.created += created;
    result.errors.push(...errors.map((error) => toLineError(error.line, error)));
    result.holdId ??= errors.find(({ holdId }) => holdId !== '')?.holdId;
    if (mode.check) suppose(supposed, run, errors);
  }
  return result;
}

function* runsOf(lines: RoutedLine[]): Generator<RoutedLine[]> {
  let run: RoutedLine[] = [];
  for (const line of lines) {
    if (run.length > 0 && run[0]!.type !== line.type) {
      yield run;
      run = [];
    }
    run.push(line);
  }
  if (run.length > 0) yield run;
}

/** The service that stores each type. */
const SERVICES = {
  call: 'calls',
  entity: 'entities',
  project: 'projects',
  billing_office: 'projects',
  user: 'auth',
} as const satisfies Record<RecordType, string>;

function keyOf({ envelope: { id, email } }: RoutedLine): string {
  const key = id ?? email;
  return typeof key === 'string' ? key : '';
}

/** Notes the records that a check's later lines may refer to, although nothing is stored. */
function suppose(supposed: Supposed, run: RoutedLine[], errors: PutRecordsResponse['errors']): void {
  const refused = new Set(errors.map(({ line }) => line));
  for (const { number, type, envelope } of run) {
    if (refused.has(number)) continue;
    const { id, email, name } = envelope as { id: string; email: string; name: string };
    if (type === 'user') supposed.emails.push(email);
    else if (type === 'project') supposed.projectIds.push(parseUuid(id)!);
    else if (type === 'billing_office') supposed.billingOffices.push(name);
  }
}
