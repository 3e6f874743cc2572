import { longestTurn } from '@crs/testing/turns';
import { client, type CallOptions, type ServiceClient } from '@crs/kit/rpc/client';
import { ImportRecordsRequest, ImportServiceService } from '@crs/proto/crs/imports/v1/imports';
import { startWorld, type World } from '@crs/testing/world';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callLine, tenant } from './_records.ts';

import { PerformanceObserver } from 'node:perf_hooks';
let gcs: string[] = [];
new PerformanceObserver((l) => {
  for (const e of l.getEntries()) if (e.duration > 8) gcs.push(`${(e as any).detail.kind}:${e.duration.toFixed(0)}`);
}).observe({ entryTypes: ['gc'] });
const MIB = 1024 * 1024;

/** Sends batches that are encoded already, because the encoding of a batch holds the event loop, too, which the service shares with the tests. */
const ENCODED = {
  importRecords: { ...ImportServiceService.importRecords, requestSerialize: (bytes: unknown) => bytes as Buffer },
};

let world: World;
let importer: ServiceClient<typeof ENCODED>;

beforeAll(async () => {
  world = await startWorld();
  await world.load(['acme', 'globex'].flatMap((id) => tenant(id)));
  importer = client(ENCODED, { name: 'calls', address: world.stack.addresses.callsAdmin, timeoutMs: 60_000, retry: false });
});
afterAll(async () => {
  importer?.close();
  await world?.close();
});

/** The line of a call whose field has a text or list that makes the line as long as may be. */
function fill(
  id: string,
  field: string,
  [open, close]: string,
  item: (i: number) => string,
  { most = Infinity, fields = {}, size = 8 * MIB } = {},
) {
  const head = `${JSON.stringify(callLine('acme', id, fields)).slice(0, -1)},"${field}":${open}`;
  const items: string[] = [];
  for (let length = head.length + 2, i = 0; i < most; i++) {
    const next = item(i);
    length += next.length + 1;
    if (length > size) break;
    items.push(next);
  }
  return Buffer.from(`${head}${items.join(open === '[' ? ',' : '')}${close}}`);
}

const name = { expert: { name: 'a' } };
const LINES: [string, Buffer[]][] = [
  ['a text', [fill('l', 'summary', '""', () => 'x'.repeat(1000)), fill('m', 'summary', '""', () => 'x'.repeat(1000))]],
  ['escaped', [fill('l', 'summary', '""', () => '\\n'.repeat(1000)), fill('m', 'summary', '""', () => '\\n'.repeat(1000))]],
  [
    'labels',
    [
      fill('l', 'transcript', '""', () => 'a:\\n', { fields: name }),
      fill('m', 'transcript', '""', () => 'a:\\n', { fields: name }),
    ],
  ],
  [
    'note',
    [fill('l', 'notes', '[]', () => JSON.stringify({ email: 'ann@crs.example', text: '\n'.repeat(4 * MIB - 100) }), { most: 1 })],
  ],
  ['segments', ['l', 'm'].map((id) => fill(id, 'transcript', '[]', () => `{"text":"${'\\n'.repeat(150)}"}`, { most: 20_000 }))],
  ['keys', [fill('l', 'x', '[]', (i) => `{"k${i}":0}`), fill('l', 'x', '[]', (i) => `{"k${i}":0}`)]],
  [
    'many',
    Array.from({ length: 250 }, (_, i) => fill(`many-${i}`, 'transcript', '""', () => 'a:\\n', { fields: name, size: 65_536 })),
  ],
  ['blocks', Array.from({ length: 1000 }, (_, i) => fill(`b-${i}`, 'qa_blocks', '[]', () => '{}', { most: 1000, size: 16_000 }))],
  [
    'notes',
    Array.from({ length: 850 }, (_, i) =>
      fill(`b-${i}`, 'notes', '[]', (j) => `{"email":"a@b${i}.${j}"}`, { most: 1000, size: 18_000 }),
    ),
  ],
];

it.each(LINES)('%s', { timeout: 300_000 }, async (what, lines) => {
  const bytes = Buffer.from(
    ImportRecordsRequest.encode({
      lines: lines.map((json, i) => ({ number: i + 1, json, id: `${what}-${i}` })),
    }).finish(),
  );
  for (let i = 0; i < 3; i++) {
    const identity = await world.operator.operator('acme');
    const start = performance.now();
    const { longest, result } = await longestTurn(() =>
      importer.importRecords(bytes as never, identity).catch((error: unknown) => error),
    );
    console.log(
      what,
      bytes.length,
      (performance.now() - start).toFixed(0),
      'longest',
      longest.toFixed(1),
      JSON.stringify(result).slice(0, 50),
      gcs.join(' '),
    );
    gcs = [];
  }
});
