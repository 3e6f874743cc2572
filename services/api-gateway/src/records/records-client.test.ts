import { expect, it } from 'vitest';
import { PutRecordsRequest } from '@crs/proto/crs/imports/v1/imports';
import { serialize } from './records-client.ts';

it.each([0, 1, 0x7f, 0x80, 0x3fff, 0x4000, 3_000_000])(
  'a request with a line of %i bytes is read as it was written',
  (length) => {
    const line = (number: number) => ({ number, json: Buffer.alloc(length, 'x'), id: `call_${number}` });
    const request: PutRecordsRequest = {
      lines: [line(1), line(1_000_000)],
      abort: true,
      check: true,
      supposed: { emails: ['ann@acme.example'], projectIds: [], billingOffices: ['London'] },
      address: '198.51.100.7',
    };
    expect(PutRecordsRequest.decode(serialize(request))).toEqual(request);
  },
);
