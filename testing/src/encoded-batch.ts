import { client } from '@crs/kit/rpc/client';
import { ImportRecordsRequest, ImportServiceService, type ImportRecordsResponse } from '@crs/proto/crs/imports/v1/imports';
import type { World } from './world.ts';

/** Accepts encoded requests: encoding one would block the event loop, which the tests share with the services. */
const DEFINITION = {
  importRecords: { ...ImportServiceService.importRecords, requestSerialize: (bytes: unknown) => bytes as Buffer },
};

/** Opens a client for encoded batches. */
export function encodedImporter({ stack, operator }: World, service: 'auth' | 'calls' | 'entities' | 'projects') {
  const options = { name: service, address: stack.addresses[`${service}Admin`], timeoutMs: 60_000, retry: false };
  const importer = client(DEFINITION, options);
  return {
    send: async (organization: string, batch: Buffer): Promise<ImportRecordsResponse> =>
      importer.importRecords(batch, await operator.operator(organization)),
    close: () => importer.close(),
  };
}

/** Encodes a batch without line ids, so that services can't recognize unchanged lines and parse each of them. */
export function encodeBatch(lines: Buffer[]): Buffer {
  return Buffer.from(ImportRecordsRequest.encode({ lines: lines.map((json, i) => ({ number: i + 1, json, id: '' })) }).finish());
}

/** Creates a line whose last field has as many items as fit into the size. @param open the line up to that field's first item */
export function fillLine(line: object, open: string, item: (i: number) => string, close: string, size = 8 * 1024 * 1024): Buffer {
  let text = `${JSON.stringify(line).slice(0, -1)},${open}`;
  for (let i = 0, next = item(0); text.length + next.length + close.length <= size; next = item(++i)) text += next;
  return Buffer.from(text + close);
}
