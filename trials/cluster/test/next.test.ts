import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

test('the patch of the next version, to which the cluster is upgraded, fits this tree', () => {
  const apply = () =>
    execFileSync('git', ['apply', '--check', 'trials/cluster/next/next.patch'], { cwd: ROOT, encoding: 'utf8' });
  expect(apply).not.toThrow();
});
