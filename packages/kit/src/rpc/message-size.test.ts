import { ImportRecordsRequest } from '@crs/proto/crs/imports/v1/imports';
import { expect, test } from 'vitest';
import { hasAtMost } from './message-size.ts';

const line = { number: 300, json: Buffer.alloc(300), id: 'a' };
const request = ImportRecordsRequest.encode({ lines: [line, line] }).finish();

test('a message is measured by the number of its fields, including those of nested messages', () => {
  // The request has two `lines`, each with three fields: eight fields in all.
  expect(hasAtMost(8, request)).toBe(true);
  expect(hasAtMost(7, request)).toBe(false);
});

test.each([
  ['16 MiB of empty messages', Buffer.alloc(16 * 1024 * 1024, Buffer.from([0x0a, 0]))],
  [
    'an inner message of 16 MiB of unknown fields',
    Buffer.concat([Buffer.from([0x0a, 0x80, 0x80, 0x80, 0x08]), Buffer.alloc(16 * 1024 * 1024, 8)]),
  ],
])('%s: refused after the first fields, without reading the rest', (_, bytes) => {
  const start = process.threadCpuUsage();
  expect(hasAtMost(1_000, bytes)).toBe(false);
  expect(process.threadCpuUsage(start).user).toBeLessThan(10_000);
});

test('counting the fields of a malformed message neither throws nor loops forever', () => {
  for (let end = 0; end < request.length; end++) expect(hasAtMost(8, request.subarray(0, end))).toBe(true);
  expect(hasAtMost(1_000, Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]))).toBe(true);
  expect(hasAtMost(1_000, Buffer.alloc(100, 0xff))).toBe(true);
});
