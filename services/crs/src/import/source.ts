import { open } from 'node:fs/promises';
import { Failure } from '../failure.ts';

const CHUNK_BYTES = 1024 * 1024;

const PROBLEMS: Record<string, string> = {
  ENOENT: 'does not exist',
  EACCES: "can't be read: you have no permission",
  EISDIR: 'is a directory',
};

/** Opens a file, or standard input for `-`. @returns `totalBytes` undefined if unknown */
export async function openSource(path: string): Promise<{ chunks: AsyncIterable<Buffer>; totalBytes: number | undefined }> {
  if (path === '-') return { chunks: process.stdin, totalBytes: undefined };
  try {
    const file = await open(path);
    const stat = await file.stat();
    if (stat.isDirectory()) {
      await file.close();
      throw Object.assign(new Error(), { code: 'EISDIR' });
    }
    return { chunks: file.createReadStream({ highWaterMark: CHUNK_BYTES }), totalBytes: stat.isFile() ? stat.size : undefined };
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw new Failure('file', `${path} ${PROBLEMS[code] ?? `can't be read (${code})`}.`, error);
  }
}
