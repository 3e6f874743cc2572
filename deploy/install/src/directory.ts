import { link, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { Failure } from './failure.ts';
import type { SecretData, SecretStore } from './secrets.ts';

/** The key of the `operator` secret, and the name of its file. */
const OPERATOR = 'operator.json';

/** A store in a directory, for installations without Kubernetes: `<name>.env` for `node --env-file`, and `operator.json` for `crs`. */
export function directorySecrets(directory: string): SecretStore {
  const pathOf = (name: string) => join(directory, name === 'operator' ? OPERATOR : `${name}.env`);
  const failed = (what: string, error: unknown) =>
    new Failure(`${what} (${(error as NodeJS.ErrnoException).code}): CRS_SECRET_DIR must be a directory of this user.`);
  return {
    describe: pathOf,
    async read(name) {
      const path = pathOf(name);
      try {
        const content = await readFile(path, 'utf8');
        return name === 'operator' ? { [OPERATOR]: content } : (parseEnv(content) as SecretData);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw failed(`${path} can't be read`, error);
      }
    },
    async create(name, data) {
      const path = pathOf(name);
      const part = `${path}.${process.pid}`;
      const content = Object.entries(data).map(([key, value]) => (key === OPERATOR ? value : `${key}=${value}\n`));
      try {
        // Linking is atomic, and never replaces an existing file.
        await writeFile(part, content.join(''), { mode: 0o600 });
        await link(part, path);
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
        throw failed(`${path} can't be written`, error);
      } finally {
        await unlink(part).catch(() => undefined);
      }
    },
  };
}
