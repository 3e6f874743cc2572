import { expect, it } from 'vitest';
import { MovedRecords } from './moved.ts';

const AT = new Date(0);

it('has one entry for each record that differs after the batch, at its last change', () => {
  const moved = new MovedRecords();
  moved.change('new', false);
  moved.change('kept', true);
  moved.delete('gone');
  moved.change('brief', false);
  moved.change('back', true);
  // A later segment of the same batch.
  moved.delete('brief');
  moved.delete('back');
  moved.change('back', false);
  moved.change('new', true);
  moved.delete('kept');
  expect(moved.at(AT)).toEqual([
    { recordId: 'new', changedAt: AT, deleted: false },
    { recordId: 'kept', changedAt: AT, deleted: true },
    { recordId: 'gone', changedAt: AT, deleted: true },
    { recordId: 'back', changedAt: AT, deleted: false },
  ]);
});

it('has no entry for a record that is stored, deleted and not stored again in one batch', () => {
  const moved = new MovedRecords();
  moved.change('a', false);
  moved.change('a', true);
  moved.delete('a');
  expect(moved.at(AT)).toEqual([]);
});
