import { fold, parseUuid } from '@crs/kit/text';
import { missing, type ReferenceType } from '@crs/records/missing-reference';
import type { ImportError, ImportLine } from '@crs/proto/crs/imports/v1/imports';
import type { FindReferencesRequest, FindReferencesResponse } from '@crs/proto/crs/projects/v1/admin';
import type { Connection } from '../connection.ts';
import type { retrying } from '../retry.ts';
import type { Batch, Send } from './run.ts';
import { heldLine, parseDeletions } from './send.ts';

/** A record that a line refers to, and the field that names it. */
interface Reference {
  field: string;
  type: ReferenceType;
  name: string;
}

/** A line that its service could parse. */
type ImportRecord = Record<string, unknown>;

/** Well below the limits of the projects service, and of a message to it. */
const REFERENCES_AT_ONCE = 2_000;

/**
 * Checks batches, and stores nothing. Services parse the lines. The records that a line refers to must be stored, or come from an earlier
 * line. Memory grows with the number of users, projects and billing offices in the file, not with that of calls and entities.
 */
export function checker(connection: Connection, retried: typeof retrying): Send {
  /** By organization and {@link keyOf}: whether the last line about a record stores it or deletes it. */
  const earlier = new Map<string, boolean>();
  const parse = retried((batch: Batch) => parseLines(connection, batch));

  return async (batch) => {
    const { organization, service } = batch;
    const find = retried(async (request: FindReferencesRequest) =>
      connection.projects.findReferences(request, await connection.operator(organization)),
    );
    const inFile = (record: Pick<Reference, 'type' | 'name'>) => earlier.get(`${organization} ${keyOf(record)}`);

    const errors = await parse(batch);
    const refused = new Set(errors.map(({ line }) => line));
    const good = batch.lines.filter(({ number }) => !refused.has(number));
    const lines = good.map(({ number, json }) => ({ number, line: JSON.parse(Buffer.from(json).toString()) as ImportRecord }));
    // A deletion that spans services is carried out even if there is nothing to delete.
    const references = new Map(lines.map(({ number, line }) => [number, service === 'erasure' ? [] : referencesOf(line)]));
    const open = [...references.values()].flat().filter((reference) => inFile(reference) === undefined);
    const stored = await findStored(find, open);
    for (const { number, line } of lines) {
      const lacking = references.get(number)!.find((reference) => !(inFile(reference) ?? stored.has(keyOf(reference))));
      if (lacking) errors.push({ line: number, ...missing(lacking.type, lacking.field), holdId: '' });
      // Nothing refers to a call or an entity, and a merge stores no new record.
      else if (service !== 'calls' && service !== 'entities' && line['merge'] !== true) {
        earlier.set(`${organization} ${keyOf(recordOf(line))}`, line['deleted'] !== true);
      }
    }
    return { accepted: batch.lines.length - errors.length, unchanged: 0, errors };
  };
}

async function parseLines(connection: Connection, { service, organization, lines }: Batch): Promise<ImportError[]> {
  if (service === 'erasure') return checkDeletions(connection, organization, lines);
  const { errors } = await connection.importers[service].checkRecords({ lines }, await connection.operator(organization));
  return errors;
}

/** Returns the lines that can't be parsed, and those whose deletion a legal hold forbids. */
async function checkDeletions(
  { calls, operator }: Connection,
  organization: string,
  lines: ImportLine[],
): Promise<ImportError[]> {
  const { records, errors } = parseDeletions(lines);
  for (const { number, target } of records) {
    try {
      await calls.beginErasure({ target: { target }, check: true }, await operator(organization));
    } catch (error) {
      errors.push(heldLine(number, error));
    }
  }
  return errors;
}

/** Returns the keys of those references that are stored. */
async function findStored(
  find: (request: FindReferencesRequest) => Promise<FindReferencesResponse>,
  references: Reference[],
): Promise<Set<string>> {
  const distinct = [...new Map(references.map((reference) => [keyOf(reference), reference])).values()];
  const stored = new Set<string>();
  for (let at = 0; at < distinct.length; at += REFERENCES_AT_ONCE) {
    const some = distinct.slice(at, at + REFERENCES_AT_ONCE);
    const namesOf = (type: ReferenceType) => some.filter((reference) => reference.type === type).map(({ name }) => name);
    const request = { emails: namesOf('user'), projectIds: namesOf('project'), billingOffices: namesOf('billing_office') };
    const found = await find(request);
    for (const name of found.emails) stored.add(keyOf({ type: 'user', name }));
    for (const name of found.projectIds) stored.add(keyOf({ type: 'project', name }));
    for (const name of found.billingOffices) stored.add(keyOf({ type: 'billing_office', name }));
    if (found.organizationExists) for (const name of namesOf('organization')) stored.add(keyOf({ type: 'organization', name }));
  }
  return stored;
}

/** E-mails and ids are compared without regard to case. */
function keyOf({ type, name }: { type: ReferenceType; name: string }): string {
  const id = type === 'user' ? fold(name) : type === 'project' ? parseUuid(name) : name;
  return `${type} ${id}`;
}

/** The record that a line stores or deletes. */
function recordOf(line: ImportRecord) {
  const name = line['type'] === 'user' ? 'email' : line['type'] === 'billing_office' ? 'name' : 'id';
  return { type: line['type'] as ReferenceType, name: line[name] as string };
}

/** In the order in which an import checks them, because it reports the first missing one. */
function referencesOf(line: ImportRecord): Reference[] {
  const people = (list: 'members' | 'notes') =>
    ((line[list] ?? []) as { email: string }[]).map(({ email }, i) => ({
      field: `${list}[${i}].email`,
      type: 'user',
      name: email,
    }));
  const all = [
    { field: 'organization', type: 'organization', name: line['organization'] },
    { field: 'project_id', type: 'project', name: line['project_id'] },
    { field: 'billing_office_name', type: 'billing_office', name: line['billing_office_name'] },
    { field: 'created_by', type: 'user', name: line['created_by'] },
    { field: 'conducted_by', type: 'user', name: line['conducted_by'] },
    ...people('members'),
    ...people('notes'),
  ];
  return all.filter((reference): reference is Reference => typeof reference.name === 'string');
}
