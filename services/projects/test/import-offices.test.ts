import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { office, officesOf, organization } from './_records.ts';

const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

let world: World;
beforeAll(async () => {
  world = await sharedWorld();
  await world.load([organization(ACME), organization(GLOBEX)]);
});
beforeEach(async () => {
  await world.query('delete from projects.billing_offices where organization in ($1, $2)', [ACME, GLOBEX]);
});

const load = (...lines: object[]) => world.tryLoad(lines);
const counts = (accepted: number, unchanged: number) => ({ accepted, unchanged, refused: [] });

describe('a billing office', () => {
  it('is stored, and is the default only with is_default', async () => {
    expect(await load(office(ACME, 'London'), office(ACME, 'Paris', { is_default: true }))).toEqual(counts(2, 0));
    expect(await officesOf(world, ACME)).toEqual(['London', 'Paris (default)']);
    expect(await officesOf(world, GLOBEX)).toEqual([]);
  });

  it.each([undefined, null])('with %s for is_default keeps the stored value', async (is_default) => {
    await load(office(ACME, 'London', { is_default: true }), office(ACME, 'Paris', { is_default: false }));
    expect(await load(office(ACME, 'London', { is_default }), office(ACME, 'Paris', { is_default }))).toEqual(counts(0, 2));
    expect(await officesOf(world, ACME)).toEqual(['London (default)', 'Paris']);
  });

  it('that is a second default replaces the first, whether in the same batch or a later one', async () => {
    const lines = [office(ACME, 'London', { is_default: true }), office(ACME, 'Paris', { is_default: true })];
    expect(await load(...lines)).toEqual(counts(2, 0));
    expect(await officesOf(world, ACME)).toEqual(['London', 'Paris (default)']);
    expect(await load(lines[0]!)).toEqual(counts(1, 0));
    expect(await officesOf(world, ACME)).toEqual(['London (default)', 'Paris']);
  });

  it('can stop being the default, which leaves none', async () => {
    await load(office(ACME, 'London', { is_default: true }), office(ACME, 'London', { is_default: false }));
    expect(await officesOf(world, ACME)).toEqual(['London']);
  });

  it('is unchanged by the same line again', async () => {
    const lines = [office(ACME, 'London', { is_default: true }), office(ACME, 'Paris')];
    expect(await load(...lines)).toEqual(counts(2, 0));
    expect(await load(...lines)).toEqual(counts(0, 2));
  });

  it('may have the same name in two organizations', async () => {
    await load(
      office(ACME, 'London', { is_default: true }),
      office(GLOBEX, 'London', { is_default: true }),
      office(GLOBEX, 'Paris', { is_default: true }),
    );
    expect(await officesOf(world, ACME)).toEqual(['London (default)']);
    expect(await officesOf(world, GLOBEX)).toEqual(['London', 'Paris (default)']);
  });

  it('differs from another by case, white space or Unicode form of its name', async () => {
    const names = ['London', 'london', ' London', 'Zürich', 'Zürich'.normalize('NFD')];
    expect(await load(...names.map((name) => office(ACME, name)))).toEqual(counts(5, 0));
    expect((await officesOf(world, ACME)).toSorted()).toEqual(names.toSorted());
  });

  it.each(['x', 'x'.repeat(200), '🙂'.repeat(200)])('may be named %j', async (name) => {
    expect(await load(office(ACME, name))).toEqual(counts(1, 0));
  });

  it('is the only default, even if many defaults are imported at once', async () => {
    const names = Array.from({ length: 8 }, (_, i) => `Office ${i}`);
    await Promise.all(names.map((name) => load(office(ACME, name, { is_default: true }))));
    const stored = await officesOf(world, ACME);
    expect(stored.filter((name) => name.endsWith('(default)'))).toHaveLength(1);
    expect(stored).toHaveLength(names.length);
  });
});

describe('a bad line is refused with the field at fault and stores nothing', () => {
  it.each([
    ['name: is required', office(ACME, undefined)],
    ['name: must be text', office(ACME, 7)],
    ['name: must have 1 to 200 characters', office(ACME, '')],
    ['name: must have 1 to 200 characters', office(ACME, 'x'.repeat(201))],
    ['name: must not contain the NUL character', office(ACME, 'a\0b')],
    ['name: must not contain a lone surrogate', office(ACME, 'a\ud800')],
    ['is_default: must be true or false', office(ACME, 'London', { is_default: 1 })],
    ['country: is not a known property', office(ACME, 'London', { country: 'UK' })],
    ['deleted: is not possible for this type', office(ACME, 'London', { deleted: true })],
    ['organization: must be an organization that exists', office(tenant('nobody'), 'London')],
  ])('%s', async (problem, line) => {
    expect(await load(office(ACME, 'before'), line, office(ACME, 'after'))).toEqual({
      accepted: 2,
      unchanged: 0,
      refused: [`2: ${problem}`],
    });
    expect(await officesOf(world, ACME)).toEqual(['after', 'before']);
  });
});
