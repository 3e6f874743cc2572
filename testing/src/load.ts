import type { Connection } from '@crs/crs/connection';
import { run } from '@crs/crs/import';
import { sender } from '@crs/crs/send';

/** Imports records as `crs import` does. A string or a buffer is sent as it is. @returns the refused lines, as `line: field: reason` */
export type TryLoad = (
  lines: (object | string | Buffer)[],
) => Promise<{ accepted: number; unchanged: number; refused: string[] }>;

export function loader(operator: Connection): TryLoad {
  return async (lines) => {
    const refused: string[] = [];
    const { accepted, unchanged } = await run(bytesOf(lines), sender(operator), {
      progress: () => {},
      refused: ({ line, field, reason }) => refused.push(`${line}: ${field}: ${reason}`),
    });
    return { accepted, unchanged, refused };
  };
}

/** Imports records. @throws Error if a line is refused */
export async function load(operator: Connection, records: object[]): Promise<void> {
  const { refused } = await loader(operator)(records);
  if (refused.length > 0) throw new Error(`refused: ${refused.slice(0, 5).join('; ')}`);
}

async function* bytesOf(lines: (object | string | Buffer)[]): AsyncGenerator<Buffer> {
  for (const line of lines) {
    yield Buffer.isBuffer(line) ? line : Buffer.from(typeof line === 'string' ? line : JSON.stringify(line));
    yield Buffer.from('\n');
  }
}
