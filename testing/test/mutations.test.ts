import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { MUTATIONS } from '@crs/testing/mutants/list';
import { mutate } from '@crs/testing/mutants/mutation';
import { expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);

it.each(MUTATIONS)('the mutation "$name" can be applied, and names test files that exist', async (mutation) => {
  const source = await readFile(new URL(mutation.file, root), 'utf8');
  expect(mutate(source, mutation)).not.toBe(source);
  expect(mutation.tests.filter((test) => !existsSync(new URL(test, root)))).toEqual([]);
});
