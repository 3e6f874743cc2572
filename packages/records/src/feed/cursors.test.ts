import { expect, it } from 'vitest';
import { Cursors } from './cursors.ts';

const SECRET = Buffer.alloc(32, 1);
const cursors = new Cursors(SECRET, 'acme');
const CHANGE = { last: 7, passStart: 3, settings: 'settings' };
const ITEM = { createdAt: new Date('2025-01-01T00:00:00.123Z'), recordId: '00000000-0000-4000-8000-000000000001' };

const OTHERS = [new Cursors(SECRET, 'globex'), new Cursors(Buffer.alloc(32, 2), 'acme')];

it('a cursor of changes is read only for its organization, feed and types', () => {
  const cursor = cursors.encodeChange(CHANGE, 'call');
  expect(cursors.decodeChange(cursor, 'call')).toEqual(CHANGE);
  expect(cursors.decodeChange(cursor, 'project,call')).toBeUndefined();
  for (const other of OTHERS) expect(other.decodeChange(cursor, 'call')).toBeUndefined();
});

it('a cursor of a list is read only for its organization and list, and equal positions have equal cursors', () => {
  const cursor = cursors.encodeList(ITEM);
  expect(cursors.encodeList(ITEM)).toBe(cursor);
  expect(cursors.decodeList(cursor)).toEqual(ITEM);
  for (const other of OTHERS) expect(other.decodeList(cursor)).toBeUndefined();
});

it('no changed cursor is read', () => {
  for (const [cursor, decode] of [
    [cursors.encodeChange(CHANGE, 'call'), (text: string) => cursors.decodeChange(text, 'call')],
    [cursors.encodeList(ITEM), (text: string) => cursors.decodeList(text)],
  ] as const) {
    const bytes = Buffer.from(cursor, 'base64url');
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1;
      expect(decode(changed.toString('base64url')), String(at)).toBeUndefined();
      expect(decode(bytes.subarray(0, at).toString('base64url')), String(at)).toBeUndefined();
    }
    for (const text of ['', 'x', `${cursor}A`, `${cursor}=`, ` ${cursor}`]) expect(decode(text), text).toBeUndefined();
  }
  expect(cursors.decodeChange(cursors.encodeList(ITEM), 'call')).toBeUndefined();
  expect(cursors.decodeList(cursors.encodeChange(CHANGE, 'call'))).toBeUndefined();
});
