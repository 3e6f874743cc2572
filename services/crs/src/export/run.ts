import type { ExportRecordsRequest, ExportRecordsResponse } from '@crs/proto/crs/exports/v1/exports';
import type { Service } from '../config.ts';
import { RECORD_TYPES } from '../import/route.ts';

type ReadPage = (request: { service: Service; page: ExportRecordsRequest }) => Promise<ExportRecordsResponse>;

/** Reads an organization page by page, each with lines of one type. Memory holds one page. */
export async function* exportPages(read: ReadPage): AsyncGenerator<{ type: string; lines: Uint8Array[] }> {
  for (const [type, { storedBy: service }] of RECORD_TYPES) {
    let after = '';
    do {
      const { lines, next } = await read({ service, page: { type, after } });
      yield { type, lines };
      after = next;
    } while (after !== '');
  }
}
