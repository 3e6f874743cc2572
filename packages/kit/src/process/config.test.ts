import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { passwordFile, postgresUrl, readEnvironment, secrets } from './config.ts';

const directory = mkdtempSync(join(tmpdir(), 'crs-config-'));
afterAll(() => rmSync(directory, { recursive: true }));
const file = (name: string, content: string) => {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
};

const SECRET = 'a-secret-that-is-long-enough-0123456789';
const URL = 'postgres://crs_auth:the-password@db/research';
const schema = z.object({
  DATABASE_URL: postgresUrl,
  CRS_SECRET: secrets,
  CRS_DATABASE_PASSWORD: z.string().optional(),
  CRS_DATABASE_PASSWORD_FILE: passwordFile,
});
const errorOf = (environment: Record<string, string>) => {
  try {
    readEnvironment(schema, environment);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
};

describe('a setting', () => {
  it('comes from the file that the variable with the suffix _FILE names, without its final newline', () => {
    const environment = { DATABASE_URL_FILE: file('url', `${URL}\n`), CRS_SECRET_FILE: file('secret', `k1:${SECRET}\n`) };
    expect(readEnvironment(schema, environment)).toEqual({ DATABASE_URL: URL, CRS_SECRET: [{ id: 'k1', secret: SECRET }] });
  });

  it('whose own name ends with _FILE stays a path', () => {
    const path = file('password', 'the-password');
    const environment = { DATABASE_URL: URL, CRS_SECRET: SECRET, CRS_DATABASE_PASSWORD_FILE: path };
    expect(readEnvironment(schema, environment)).toMatchObject({ CRS_DATABASE_PASSWORD_FILE: path });
    expect(readEnvironment(schema, environment)).not.toHaveProperty('CRS_DATABASE_PASSWORD');
  });

  it.each([
    [
      'is set twice',
      { DATABASE_URL: URL, DATABASE_URL_FILE: '/some/file' },
      'DATABASE_URL_FILE: leave it out, because DATABASE_URL is set, too',
    ],
    ['is in a missing file', { DATABASE_URL_FILE: '/nowhere/url' }, "DATABASE_URL_FILE: /nowhere/url can't be read (ENOENT)"],
    [
      'is in an empty file',
      { DATABASE_URL: URL, CRS_SECRET_FILE: file('empty', '\n') },
      'CRS_SECRET: must have at least 32 characters',
    ],
    [
      'is wrong in its file',
      { DATABASE_URL_FILE: file('wrong', 'the-password@db'), CRS_SECRET: SECRET },
      'DATABASE_URL: must be a postgres:// URL',
    ],
  ])('that %s is named, never its value', (_, environment, message) => {
    expect(errorOf(environment)).toContain(message);
    expect(errorOf(environment)).not.toContain('the-password');
  });
});
