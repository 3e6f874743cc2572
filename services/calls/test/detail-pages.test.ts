import { setImmediate as turn } from 'node:timers/promises';
import { interceptStatements, type SentStatement } from '@crs/testing/intercept-statements';
import { beforeAll, describe, expect, it } from 'vitest';
import { renderDetail } from '../src/domain/stored-json/index.ts';
import { toBytes } from '@crs/records/response-json';
import { feeds, type Feeds } from './_feed.ts';
import { OPEN_VIEW, sampleCall, SECRET } from './_sample.ts';

let feed: Feeds;
beforeAll(async () => {
  feed = await feeds();
});

const MIB = 1024 * 1024;
const ALL = '/calls?start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z&expand=detail';

/** A transcript of this many bytes in segments, half of them the interviewee's. */
const transcript = (bytes: number) =>
  Array.from({ length: bytes / 1_000 }, (_, i) => ({
    speaker: i % 2 === 0 ? 'Eva Muster' : 'Ann',
    start_seconds: i,
    text: `Eva Muster: ${'word '.repeat(180)}`,
  }));

/** Runs `work`. @returns the statements of this name that the service sent meanwhile */
async function sentBy(name: string, work: () => Promise<unknown>): Promise<SentStatement[]> {
  const sent: SentStatement[] = [];
  const stop = interceptStatements((statement) => {
    if (statement.name === name) sent.push(statement);
    return statement;
  });
  try {
    await work();
  } finally {
    stop();
  }
  return sent;
}

/** Runs a statement again, and measures what it returns and reads. */
async function measure({ text, values }: SentStatement) {
  const { rows } = await feed.world.query(text, values);
  const { rows: plans } = await feed.world.query(`explain (analyze, buffers, format json) ${text}`, values);
  const plan = plans[0]['QUERY PLAN'][0].Plan;
  return {
    rows: rows.length,
    texts: rows.filter(({ detailJson, verbatim }) => detailJson !== null || verbatim !== null).length,
    storedBytes: rows.reduce((sum, { length }) => sum + Number(length), 0),
    readBytes: (plan['Shared Hit Blocks'] + plan['Shared Read Blocks']) * 8_192,
  };
}

describe('a page of 20 calls of 600 KB with anonymized names', () => {
  let organization: string;
  let other: string;
  beforeAll(async () => {
    organization = await feed.createTenant({ anonymize_interviewees: true });
    other = await feed.createTenant({ anonymize_interviewees: true });
    const fields = { expert: { name: 'Eva Muster' }, transcript: transcript(300_000) };
    const ids = Array.from({ length: 20 }, (_, n) => `call_${n}`);
    for (const batch of [ids.slice(0, 10), ids.slice(10)]) await feed.store(organization, batch, fields);
    await feed.store(other, ['call_0'], fields);
  });

  it('is refused by GET /v1/calls from the stored lengths alone, before any text is read', async () => {
    const [statement, ...more] = await sentBy('list_details', async () => {
      const { status, json } = await feed.get(organization, `${ALL}&per_page=50`);
      expect([status, json.error.message]).toEqual([
        400,
        'per_page: must be at most 14 here: the details of more calls are larger than 8 MiB',
      ]);
    });
    expect(more).toEqual([]);
    const { rows, texts, storedBytes, readBytes } = await measure(statement!);
    expect([rows, texts]).toEqual([20, 0]);
    expect(storedBytes).toBeGreaterThan(10 * MIB);
    expect(readBytes).toBeLessThan(2 * MIB);
  });

  it('fits into GET /v1/calls with as many calls as the error names, and another organization sees only its own call', async () => {
    const { status, json } = await feed.get(organization, `${ALL}&per_page=14`);
    expect([status, json.data.length]).toEqual([200, 14]);
    expect((await feed.get(organization, `${ALL}&per_page=15`)).status).toBe(400);
    expect((await feed.get(other, `${ALL}&per_page=50`)).json.data).toHaveLength(1);
  });

  it('is cut by GET /v1/changes to the calls that fit, and only their texts are read', async () => {
    const [statement] = await sentBy('list_changes_with_details', async () => {
      const { json } = await feed.changes(organization, { expand: 'detail', limit: 50 });
      expect([json.data.length, json.has_more]).toEqual([14, true]);
    });
    const { rows, texts } = await measure(statement!);
    expect([rows, texts]).toEqual([20, 14]);
  });
});

describe('a call of 8 MiB with an anonymized name', () => {
  const large = sampleCall({ transcripts: [{ kind: 'verbatim', content: transcript(8_000_000) }] });
  const view = { ...OPEN_VIEW, anonymizeWith: SECRET };

  it('is rendered and encoded in steps, so other work proceeds meanwhile', async () => {
    const whole = [...renderDetail(large, view)].join('');
    let turns = 0;
    let isDone = false;
    const others = (async () => {
      for (; !isDone; turns++) await turn();
    })();
    const encoded = await toBytes(renderDetail(large, view));
    isDone = true;
    await others;
    expect(encoded.toString()).toBe(whole);
    expect(whole).not.toContain('Eva Muster');
    expect(turns).toBeGreaterThan(3);
  });

  it('is rendered in pieces of less than 64 KiB', () => {
    for (const piece of renderDetail(large, view)) expect(piece.length).toBeLessThan(64 * 1024);
  });
});

describe('the detail of a call', () => {
  const piece = 'x'.repeat(MIB);

  it('may be 60 MiB long', async () => {
    expect(await toBytes(Array.from({ length: 60 }, () => piece))).toHaveLength(60 * MIB);
  });

  it('is refused once it exceeds 60 MiB, before the rest is rendered', async () => {
    let rendered = 0;
    function* pieces() {
      for (; rendered < 200; rendered++) yield piece;
    }
    await expect(toBytes(pieces())).rejects.toThrow('include_verbatim: must be false here');
    expect(rendered).toBe(60);
  });
});
