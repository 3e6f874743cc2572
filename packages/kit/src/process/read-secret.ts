import { readFile } from 'node:fs/promises';

/** The text of a file that another program renews, without the newline at its end. */
export async function readSecret(path: string): Promise<string> {
  return (await readFile(path, 'utf8')).trimEnd();
}
