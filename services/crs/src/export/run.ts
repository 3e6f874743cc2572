import type { ExportRecordsRequest, ExportRecordsResponse } from '@crs/proto/crs/exports/v1/exports';
import type { Service } from '../config.ts';
import { RECORD_TYPES } from '../import/route.ts';

/** Reads a page of a service. */
type ReadPage = (request: { service: Service; page: ExportRecordsRequest }) => Promise<ExportRecordsResponse>;

/** Lines of one type. */
interface Exported {
  type: string;
  lines: Uint8Array[];
}

/** Reads an organization page by page. Memory holds one page. */
export async function* exportPages(read: ReadPage): AsyncGenerator<Exported> {
  for (const [type, { storedBy: service }] of RECORD_TYPES) {
    let after = '';
    do {
      const { lines, next } = await read({ service, page: { type, after } });
      yield { type, lines };
      after = next;
    } while (after !== '');
  }
}
