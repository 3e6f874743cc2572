import { PutProjectGrantsRequest } from '@crs/proto/crs/auth/v1/auth';
import { expect, test } from 'vitest';
import { hasAtMost } from './message-size.ts';

const SHAPE = { 1: { 3: {} } };
const request = PutProjectGrantsRequest.encode({
  grants: [
    { projectId: 'a'.repeat(300), createdBy: 'ann@acme.example', members: [{ email: 'bob@acme.example', lead: true }] },
    { projectId: 'b', createdBy: undefined, members: [] },
  ],
}).finish();

test('a message is measured by the fields of itself and of the inner messages that its shape names', () => {
  // Both grants, three fields of the first, two of its member, and one of the second grant.
  expect(hasAtMost(8, request, SHAPE)).toBe(true);
  expect(hasAtMost(7, request, SHAPE)).toBe(false);
  expect(hasAtMost(2, request, {})).toBe(true);
  expect(hasAtMost(1, request, {})).toBe(false);
});

test.each([
  ['16 MiB of empty messages', Buffer.alloc(16 * 1024 * 1024, Buffer.from([0x0a, 0]))],
  [
    'an inner message of 16 MiB of unknown fields',
    Buffer.concat([Buffer.from([0x0a, 0x80, 0x80, 0x80, 0x08]), Buffer.alloc(16 * 1024 * 1024, 8)]),
  ],
])('%s are refused after the first fields', (_, bytes) => {
  const start = process.threadCpuUsage();
  expect(hasAtMost(1_000, bytes, SHAPE)).toBe(false);
  expect(process.threadCpuUsage(start).user).toBeLessThan(10_000);
});

test('a malformed message neither throws nor is read for ever', () => {
  for (let end = 0; end < request.length; end++) expect(hasAtMost(8, request.subarray(0, end), SHAPE)).toBe(true);
  expect(hasAtMost(1_000, Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]), SHAPE)).toBe(true);
  expect(hasAtMost(1_000, Buffer.alloc(100, 0xff), SHAPE)).toBe(true);
});
