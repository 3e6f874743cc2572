import { ImportLine, PutRecordsRequest, RecordsServiceService } from '@crs/proto/crs/imports/v1/imports';

/**
 * The service that stores records, with a serializer that copies lines once. The generated one copies them three times: of 16 MiB that takes 30 ms, in which
 * nothing else runs.
 */
export const RecordsService = {
  putRecords: { ...RecordsServiceService.putRecords, requestSerialize: serialize },
} as const;

/** Tags of protobuf: `lines` of the request, and `json` of a line. */
const LINES_TAG = 0x0a;
const JSON_TAG = 0x12;
const NO_BYTES = Buffer.alloc(0);

export function serialize({ lines, ...rest }: PutRecordsRequest): Buffer {
  const parts: Uint8Array[] = [PutRecordsRequest.encode({ ...rest, lines: [] }).finish()];
  for (const { json, ...line } of lines) {
    const others = ImportLine.encode({ ...line, json: NO_BYTES }).finish();
    const start = withLength(JSON_TAG, json.length);
    parts.push(withLength(LINES_TAG, others.length + start.length + json.length), others, start, json);
  }
  return Buffer.concat(parts);
}

/** Returns a tag, and a length as a varint. */
function withLength(tag: number, length: number): Uint8Array {
  const bytes = [tag];
  for (; length > 0x7f; length >>>= 7) bytes.push((length & 0x7f) | 0x80);
  return Uint8Array.from([...bytes, length]);
}
