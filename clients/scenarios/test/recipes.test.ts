/** Runs the programs of examples/ingest on their sample files, against the running system. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { json } from 'node:stream/consumers';
import { createKey } from '@crs/testing/credentials';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PROGRAMS, run } from '../src/programs.ts';
import { startClientWorld, type ClientWorld } from '../src/world.ts';

const ROOT = join(import.meta.dirname, '../../..');
const SAMPLES = join(ROOT, 'examples/ingest/samples');
const { typescript, python } = PROGRAMS;

let system: ClientWorld;
let ingestKey: string;
let env: Record<string, string>;
const bin = mkdtempSync(join(tmpdir(), 'crs-recipes-'));
beforeAll(async () => {
  system = await startClientWorld();
  ingestKey = await createKey(system.world.operator, 'acme', { rights: ['ingest'] });
  const crs = join(bin, 'crs');
  writeFileSync(crs, `#!/bin/sh\nexec '${process.execPath}' '${ROOT}/services/crs/src/main.ts' "$@"\n`);
  chmodSync(crs, 0o755);
}, 120_000);
afterAll(async () => {
  rmSync(bin, { recursive: true });
  await system?.close();
});

/** Properties that the CSV file doesn't have. */
const KEPT = { summary: 'Kept', duration_minutes: 12.5 };
const IDS = ['call_a', 'call_b', 'zoom_4444AAAiAAAAAiAiAiiAig'];

beforeEach(async () => {
  system.proxy.reset();
  env = {
    CRS_API_KEY: ingestKey,
    CRS_BASE_URL: system.proxy.baseUrl,
    PATH: `${bin}${delimiter}${process.env['PATH']}`,
  };
  await system.load([
    ...IDS.map((id) => ({ type: 'call', organization: 'acme', id, deleted: true })),
    // The other organization's calls have the same ids.
    ...IDS.map((id) => ({ type: 'call', organization: 'scarce', id, segment: 'Other' })),
  ]);
});

interface Call {
  summary: string | null;
  transcripts: { text: string }[];
}
const read = async (id: string) => JSON.parse(await system.ask(`/calls/${id}`)) as Call;
/** Checks that a recipe changed nothing of the other organization. */
async function expectOthersUnchanged(): Promise<void> {
  const statement = "select call_id from calls.calls where organization = 'scarce' and segment = 'Other' order by 1";
  expect(await system.world.database.query(statement)).toEqual(IDS.map((id) => ({ call_id: id })));
}

/** Starts a server for what isn't part of this system. @returns its origin, and a function that stops it */
async function serve(respond: (request: IncomingMessage, response: ServerResponse) => Promise<void> | void) {
  const server = createServer((request, response) => void respond(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => server.close();
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

describe.skipIf(!typescript)('in TypeScript', () => {
  const start = (recipe: string, args: string[] = [], input = '') => run([...typescript![recipe]!, ...args], input, env);

  it('vtt-folder stores each file as the transcript of a call, and keeps everything else', async () => {
    await system.load([{ type: 'call', organization: 'acme', id: 'call_b', summary: 'Kept' }]);
    expect(await start('vtt-folder', [join(SAMPLES, 'calls')])).toBe('call_a.vtt: stored\ncall_b.vtt: stored\n');
    expect((await read('call_a')).transcripts[0]!.text).toBe(
      'Ann Example: Shall we start?\nEva Expert: Yes. The market for boxes grew by 5%.',
    );
    expect(await read('call_b')).toMatchObject({
      summary: 'Kept',
      transcripts: [{ text: 'Ann Example: Which boxes do you buy?' }],
    });
    expect(await start('vtt-folder', [join(SAMPLES, 'calls')])).toBe('call_a.vtt: unchanged\ncall_b.vtt: unchanged\n');
    await expectOthersUnchanged();
  });

  it('zoom-event fetches the transcript that the event names, and keeps what others add', async () => {
    const zoom = await serve((request, response) => {
      const isAllowed =
        request.headers.authorization === 'Bearer zoom-download-token' && request.url === '/rec/download/transcript';
      response.writeHead(isAllowed ? 200 : 403).end(readFileSync(join(SAMPLES, 'zoom.vtt')));
    });
    system.proxy.reset((_exchange, index) => (index === 0 ? { status: 503, headers: { 'Retry-After': '0' } } : undefined));
    const event = readFileSync(join(SAMPLES, 'zoom-event.json'), 'utf8').replaceAll('https://zoom.example', zoom.origin);
    const id = IDS[2]!;
    expect(JSON.parse(await start('zoom-event', [], event))).toEqual({ call_id: id, result: 'created' });
    expect(system.proxy.exchanges.map(({ method, status }) => [method, status])).toEqual([
      ['PATCH', 503],
      ['PATCH', 404],
      ['PUT', 201],
    ]);
    expect(await read(id)).toMatchObject({
      call_type: 'meeting',
      date: '2026-02-01T09:00:00.000Z',
      duration_minutes: 32,
      transcripts: [{ text: 'Ann Example: Welcome.\nEva Expert: We buy pallets: five a day.' }],
    });
    await system.load([{ type: 'call', organization: 'acme', id, merge: true, summary: 'Added' }]);
    expect(JSON.parse(await start('zoom-event', [], event))).toEqual({ call_id: id, result: 'unchanged' });
    expect(await read(id)).toMatchObject({ summary: 'Added' });
    zoom.close();
    await expectOthersUnchanged();
  });

  it('summarize changes only what the model wrote', async () => {
    await system.load([
      {
        type: 'call',
        organization: 'acme',
        id: 'call_a',
        transcript: [{ speaker: 'Eva', start_seconds: 1, text: 'Boxes.' }],
        rating: 2,
      },
    ]);
    const requests: unknown[] = [];
    const findings = { summary: 'On boxes.', key_takeaways: '- Boxes', qa_blocks: [{ question: 'What?', answer: 'Boxes.' }] };
    const model = await serve(async (request, response) => {
      requests.push(await json(request));
      response.end(JSON.stringify({ choices: [{ message: { content: JSON.stringify(findings) } }] }));
    });
    env['CRS_API_KEY'] = await createKey(system.world.operator, 'acme', { rights: ['read', 'ingest'] });
    env = { ...env, AI_URL: model.origin, AI_KEY: 'k', AI_MODEL: 'm' };
    expect(await start('summarize', ['call_a'])).toBe('call_a: {"call_id":"call_a","result":"merged"}\n');
    expect(requests).toEqual([
      expect.objectContaining({ model: 'm', messages: [expect.anything(), { role: 'user', content: 'Eva: Boxes.' }] }),
    ]);
    expect(await read('call_a')).toMatchObject({
      summary: 'On boxes.',
      key_takeaways: '- Boxes',
      key_takeaways_status: 'pending',
      qa_blocks: [{ question: 'What?', answer: 'Boxes.' }],
      rating: 2,
      transcripts: expect.arrayContaining([expect.objectContaining({ text: 'Eva: Boxes.' })]),
    });
    model.close();
    await expectOthersUnchanged();
  });

  it('deletions deletes the calls of a list, and again finds none', async () => {
    await system.load([{ type: 'call', organization: 'acme', id: 'call_b' }]);
    env['CRS_API_KEY'] = await createKey(system.world.operator, 'acme', { rights: ['delete'] });
    const list = join(SAMPLES, 'deleted.txt');
    expect(await start('deletions', [list])).toBe('1 calls deleted, 1 were not there\n');
    await expect(read('call_b')).rejects.toThrow('404');
    expect(await start('deletions', [list])).toBe('0 calls deleted, 2 were not there\n');
    await expectOthersUnchanged();
  });
});

describe.skipIf(!python)('in Python', () => {
  it('calls_csv adds the columns of a CSV file, and keeps everything else', async () => {
    const stored = { type: 'call', organization: 'acme', rating: 2, segment: 'Makers', ...KEPT };
    await system.load([
      { ...stored, id: 'call_a' },
      { ...stored, id: 'call_b' },
    ]);
    const command = [...python!['calls_csv']!, join(SAMPLES, 'calls.csv')];
    expect(await run(command, '', env)).toBe('2 calls changed, 0 unchanged\n');
    expect(await read('call_a')).toMatchObject({ ...KEPT, rating: 4, segment: 'Buyers' });
    expect(await read('call_b')).toMatchObject({ ...KEPT, rating: 5, segment: 'Makers', source: 'Boxes, Inc' });
    expect(await run(command, '', env)).toBe('0 calls changed, 2 unchanged\n');
    await system.load([{ type: 'call', organization: 'acme', id: 'call_b', deleted: true }]);
    await expect(run(command, '', env)).rejects.toThrow('record 2: id ');
    await expectOthersUnchanged();
  });
});
