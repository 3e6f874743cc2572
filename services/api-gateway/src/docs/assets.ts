import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { entity, type Entity } from '../http/send.ts';

/** A file of the docs page. Its path holds a hash of its bytes, so that browsers may keep it for good. */
export interface Asset {
  path: string;
  plain: Entity;
  /** Compresses the file at the first call. */
  compressed: () => Promise<Entity>;
}

const compress = promisify(gzip);

export function asset(name: string, type: string, body: Buffer): Asset {
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 16);
  let compressed: Promise<Entity> | undefined;
  return {
    path: `/docs/assets/${hash}/${name}`,
    plain: entity(type, body),
    compressed: () => (compressed ??= compress(body, { level: 9 }).then((bytes) => entity(type, bytes))),
  };
}
