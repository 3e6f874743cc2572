import { expect, it } from 'vitest';
import { PutRecordsRequest } from '@crs/proto/crs/imports/v1/imports';
import { serialize } from './records-client.ts';

it.each([0, 1, 0x7f, 0x80, 0x3fff, 0x4000, 3_000_000])(
  'a request with a line of %i bytes is read as it was written',
  async (length) => {
    const json = Buffer.alloc(length, 'x');
    const line = (number: number) => ({ number, id: `call_${number}` });
    const rest = {
      abort: true,
      check: true,
      supposed: { emails: ['ann@acme.example'], projectIds: [], billingOffices: ['London'] },
      address: '198.51.100.7',
    };
    const parts = [json.subarray(0, length / 3), json.subarray(length / 3)];
    const lines = [
      { ...line(1), json: [json] },
      { ...line(1_000_000), json: parts },
    ];
    const read = PutRecordsRequest.decode(await serialize({ ...rest, lines }));
    expect(read).toEqual({ ...rest, lines: [1, 1_000_000].map((number) => ({ ...line(number), json })) });
  },
);
