import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';

const [ACME, GLOBEX, NOBODY] = [tenant('acme'), tenant('globex'), tenant('nobody')];
const ALPHA = '00000000-0000-4000-8000-00000000000a';
const BETA = '00000000-0000-4000-8000-00000000000b';
const ONE = '11111111-0000-4000-8000-000000000001';
const TWO = '11111111-0000-4000-8000-000000000002';

let world: World;
beforeAll(async () => {
  world = await sharedWorld();
  await world.load(
    [ACME, GLOBEX].flatMap((organization) => [
      { type: 'organization', id: organization },
      ...[ALPHA, BETA].map((id) => ({ type: 'project', organization, id })),
    ]),
  );
});
beforeEach(async () => {
  await world.query('delete from entities.entities where organization in ($1, $2)', [ACME, GLOBEX]);
});

const entity = (organization: string, id: string, more: object = {}) => ({
  type: 'entity',
  organization,
  project_id: ALPHA,
  id,
  ...more,
});
const deletion = (organization: string, id: string, more: object = {}) => ({
  type: 'entity',
  organization,
  id,
  deleted: true,
  ...more,
});
const load = (...lines: object[]) => world.tryLoad(lines);
const counts = (accepted: number, unchanged: number) => ({ accepted, unchanged, refused: [] });

/** The stored entities of an organization, in the order of their ids. */
async function entitiesOf(organization: string): Promise<Record<string, unknown>[]> {
  const { rows } = await world.query(
    `select entity_id as id, project_id, name, entity_type, category, competitor_tier, is_competitor, description, overview, domain, created_at
      from entities.entities where organization = $1 order by 1`,
    [organization],
  );
  return rows;
}

const FIELDS = {
  name: 'Box Inc',
  entity_type: 'company',
  category: 'Boxes',
  competitor_tier: 'tier 1',
  is_competitor: true,
  description: 'Makes boxes.',
  overview: '# Boxes\n\nMany.',
  domain: 'box.example',
};
const FULL = entity(ACME, ONE, { ...FIELDS, created_at: '2025-01-01T10:00:00.1239+01:00' });
const STORED = { id: ONE, project_id: ALPHA, ...FIELDS, created_at: new Date('2025-01-01T09:00:00.123Z') };
const EMPTY = Object.fromEntries(Object.keys(FIELDS).map((field) => [field, null]));

describe('an entity', () => {
  it('is stored with all of its fields', async () => {
    expect(await load(FULL)).toEqual(counts(1, 0));
    expect(await entitiesOf(ACME)).toEqual([STORED]);
    expect(await entitiesOf(GLOBEX)).toEqual([]);
  });

  it('is unchanged by a second line with the same meaning', async () => {
    await load(FULL);
    const again = {
      ...FULL,
      id: ONE.toUpperCase(),
      project_id: ALPHA.toUpperCase(),
      created_at: '2025-01-01t09:00:00.123z',
      deleted: false,
    };
    expect(await load(FULL, again)).toEqual(counts(0, 2));
    expect(await load({ ...FULL, created_at: null })).toEqual(counts(0, 1));
  });

  it('is replaced as a whole: absent fields become null, except created_at, and null counts as absent', async () => {
    await load(FULL);
    expect(await load(entity(ACME, ONE))).toEqual(counts(1, 0));
    expect(await entitiesOf(ACME)).toEqual([{ ...EMPTY, id: ONE, project_id: ALPHA, created_at: STORED.created_at }]);
    expect(await load(entity(ACME, ONE, { ...EMPTY, deleted: null }))).toEqual(counts(0, 1));
  });

  it.each(Object.keys(FIELDS))('changes when %s changes', async (field) => {
    await load(FULL);
    const value = field === 'is_competitor' ? false : 'other';
    expect(await load({ ...FULL, [field]: value })).toEqual(counts(1, 0));
    expect(await entitiesOf(ACME)).toEqual([{ ...STORED, [field]: value }]);
  });

  it('without created_at keeps the time of its first import', async () => {
    await load(entity(ACME, ONE, { name: 'first' }));
    const [first] = await entitiesOf(ACME);
    await load(entity(ACME, ONE, { name: 'second' }));
    expect(await entitiesOf(ACME)).toEqual([{ ...first, name: 'second' }]);
    expect(Math.abs(+(first!['created_at'] as Date) - Date.now())).toBeLessThan(60_000);
  });

  it('can move to another project', async () => {
    await load(FULL);
    expect(await load({ ...FULL, project_id: BETA })).toEqual(counts(1, 0));
    expect(await entitiesOf(ACME)).toEqual([{ ...STORED, project_id: BETA }]);
  });

  it('that comes twice in a file ends up as its later line', async () => {
    expect(await load(FULL, entity(ACME, ONE, { name: 'later' }), FULL, FULL)).toEqual(counts(3, 1));
    expect(await entitiesOf(ACME)).toEqual([STORED]);
  });

  it('may have the same id in two organizations', async () => {
    await load(FULL, { ...FULL, organization: GLOBEX, name: 'Theirs', project_id: BETA });
    expect(await entitiesOf(ACME)).toEqual([STORED]);
    expect(await entitiesOf(GLOBEX)).toEqual([{ ...STORED, name: 'Theirs', project_id: BETA }]);
    await load(deletion(GLOBEX, ONE));
    expect(await entitiesOf(ACME)).toEqual([STORED]);
    expect(await entitiesOf(GLOBEX)).toEqual([]);
  });

  it('may come in a line of almost 8 MiB', async () => {
    // A quotation mark takes two bytes in JSON.
    const overview = '"'.repeat(4 * 1024 * 1024 - 200);
    expect(await load(entity(ACME, ONE, { overview }))).toEqual(counts(1, 0));
    expect((await entitiesOf(ACME))[0]!['overview'] === overview).toBe(true);
  });

  it('ends up, after several imports at once, as one of them wrote it, like the other entities of that import', async () => {
    const variants = Array.from({ length: 6 }, (_, i) => ({ name: `variant ${i}`, description: `variant ${i}` }));
    await Promise.all(variants.map((each) => load(entity(ACME, ONE, each), entity(ACME, TWO, each))));
    const [one, two] = await entitiesOf(ACME);
    expect(new Set([one!['name'], one!['description'], two!['name'], two!['description']]).size).toBe(1);
  });
});

describe('the deletion of an entity', () => {
  it('removes the entity, and counts as unchanged if there is none', async () => {
    await load(FULL, entity(ACME, TWO));
    expect(await load(deletion(ACME, ONE), deletion(ACME, ONE.toUpperCase()))).toEqual(counts(1, 1));
    expect((await entitiesOf(ACME)).map(({ id }) => id)).toEqual([TWO]);
  });

  it('takes effect in the order of the lines', async () => {
    expect(
      await load(
        FULL,
        deletion(ACME, ONE),
        entity(ACME, ONE, { name: 'again' }),
        deletion(ACME, TWO),
        entity(ACME, TWO),
        deletion(ACME, TWO),
      ),
    ).toEqual(counts(5, 1));
    expect(await entitiesOf(ACME)).toEqual([
      { ...EMPTY, id: ONE, project_id: ALPHA, name: 'again', created_at: expect.any(Date) },
    ]);
  });

  it('succeeds even if the project of the entity does not exist', async () => {
    await load(FULL);
    await world.query('update entities.entities set project_id = $1 where organization = $2', [TWO, ACME]);
    expect(await load(deletion(ACME, ONE))).toEqual(counts(1, 0));
  });
});

describe('the project of an entity', () => {
  const NEW = '00000000-0000-4000-8000-00000000000c';

  it('may be defined in an earlier line, but not in a later one', async () => {
    const named = [
      entity(ACME, ONE, { project_id: NEW }),
      { type: 'project', organization: ACME, id: NEW },
      entity(ACME, TWO, { project_id: NEW }),
    ];
    expect(await load(...named)).toEqual({
      accepted: 2,
      unchanged: 0,
      refused: ['1: project_id: must be a project of this organization'],
    });
    expect((await entitiesOf(ACME)).map(({ id }) => id)).toEqual([TWO]);
  });

  it('must belong to the same organization', async () => {
    const theirs = '00000000-0000-4000-8000-00000000000d';
    await world.load([{ type: 'project', organization: GLOBEX, id: theirs }]);
    const { refused } = await load(entity(ACME, ONE, { project_id: theirs }));
    expect(refused).toEqual(['1: project_id: must be a project of this organization']);
  });
});

describe('a bad line is refused with the field at fault and changes nothing', () => {
  const own = (more: object) => ({ ...FULL, name: 'Changed', ...more });
  it.each([
    ['id: is required', own({ id: undefined })],
    ['id: must be a UUID', own({ id: 'one' })],
    ['project_id: is required', own({ project_id: undefined })],
    ['project_id: must be text', own({ project_id: null })],
    ['project_id: must be a UUID', own({ project_id: `{${ALPHA}}` })],
    ['project_id: must be a project of this organization', own({ project_id: ONE })],
    ['name: must be text', own({ name: 7 })],
    ['name: must not contain the NUL character', own({ name: 'a\0b' })],
    ['overview: must not contain a lone surrogate', own({ overview: '\udc00' })],
    ['entity_type: must be text', own({ entity_type: ['company'] })],
    ['is_competitor: must be true or false', own({ is_competitor: 'yes' })],
    ['created_at: must be an RFC 3339 date-time with Z or an offset', own({ created_at: 'yesterday' })],
    ['type_: is not a known property', own({ type_: 'company' })],
    ['deleted: must be true or false', own({ deleted: 'yes' })],
    ['name: is not a known property', deletion(ACME, ONE, { name: 'Box Inc' })],
    ['id: is required', deletion(ACME, ONE, { id: undefined })],
    ['organization: must be an organization that exists', own({ organization: NOBODY })],
    ['organization: must be an organization that exists', deletion(NOBODY, ONE)],
  ])('%s', async (problem, line) => {
    await load(FULL);
    expect(await load(line, entity(ACME, TWO))).toEqual({ accepted: 1, unchanged: 0, refused: [`1: ${problem}`] });
    const [first, second, ...rest] = await entitiesOf(ACME);
    expect([first, second!['id'], rest]).toEqual([STORED, TWO, []]);
  });
});
