import type { ExportRecordsRequest, ExportRecordsResponse } from '@crs/proto/crs/exports/v1/exports';
import type { Service } from '../config.ts';

/** The types of records and the services that export them, so ordered that a record refers to earlier ones only. */
const TYPES: readonly (readonly [type: string, service: Service])[] = [
  ['organization', 'auth'],
  ['user', 'auth'],
  ['billing_office', 'projects'],
  ['project', 'projects'],
  ['call', 'calls'],
  ['entity', 'entities'],
];

/** Reads a page of a service. */
export type ReadPage = (request: { service: Service; page: ExportRecordsRequest }) => Promise<ExportRecordsResponse>;

/** Lines of one type. */
export interface Exported {
  type: string;
  lines: Uint8Array[];
}

/** Reads an organization page by page. Memory holds one page. */
export async function* exportPages(read: ReadPage): AsyncGenerator<Exported> {
  for (const [type, service] of TYPES) {
    let after = '';
    do {
      const { lines, next } = await read({ service, page: { type, after } });
      yield { type, lines };
      after = next;
    } while (after !== '');
  }
}
