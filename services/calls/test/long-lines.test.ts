import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { beforeAll, describe, expect, it } from 'vitest';
import { callLine, sendBatch, tenantRecords } from './_records.ts';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
let world: World;
beforeAll(async () => {
  world = await sharedWorld();
  await world.load([...tenantRecords(ACME), ...tenantRecords(GLOBEX)]);
});

describe('a line that is long enough to be parsed in the worker thread', () => {
  const long = (organization: string, id: string, fields: object = {}) =>
    callLine(organization, id, { summary: `${organization} `.repeat(20_000), ...fields });

  it('is stored for its own organization, even if another sends a call with the same id at the same time', async () => {
    const both = [ACME, GLOBEX].map((organization) => sendBatch(world, organization, [long(organization, 'same')]));
    expect(await Promise.all(both)).toEqual(Array(2).fill({ accepted: 1, unchanged: 0, refused: [] }));
    const { rows } = await world.query(
      `select organization from calls.calls where call_id = 'same' and detail_json like '%' || organization || ' ' || organization || '%'
        and organization in ($1, $2) order by 1`,
      [ACME, GLOBEX],
    );
    expect(rows).toEqual([{ organization: ACME }, { organization: GLOBEX }]);
    expect(await sendBatch(world, ACME, [long(GLOBEX, 'same')])).toMatchObject({
      refused: ['1: organization: must be the organization that the batch is sent for'],
    });
  });

  it('is stored as a short one is, including notes and times, and repeating it changes nothing', async () => {
    const notes = [
      { email: 'ann@crs.example', text: 'a\tb\\' },
      { email: 'bob@crs.example', text: null },
    ];
    const fields = { notes, created_at: '2025-01-01T00:00:00Z', conducted_by: 'bob@crs.example' };
    await sendBatch(world, ACME, [long(ACME, 'twice', fields)]);
    // Spaces don't change the record, but its hash differs, so the line is parsed again.
    const again = JSON.stringify(long(ACME, 'twice', fields)).replace('{', `{${' '.repeat(99)}`);
    expect(await sendBatch(world, ACME, [again])).toEqual({ accepted: 0, unchanged: 1, refused: [] });
    const { rows } = await world.query(`select text from calls.notes where organization = $1 and call_id = 'twice'`, [ACME]);
    expect(rows).toEqual([{ text: 'a\tb\\' }]);
  });
});
