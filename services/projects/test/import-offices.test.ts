import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { office, officesOf, organization, TENANTS } from './_records.ts';

let world: OwnWorld;
beforeAll(async () => {
  world = await startWorld();
  await world.load(TENANTS.map((id) => organization(id)));
});
afterAll(() => world?.close());
beforeEach(async () => {
  await world.query('truncate projects.billing_offices cascade');
});

const load = (...lines: object[]) => world.tryLoad(lines);
const counts = (accepted: number, unchanged: number) => ({ accepted, unchanged, refused: [] });

describe('a billing office', () => {
  it('is stored, as the default only with is_default', async () => {
    expect(await load(office('acme', 'London'), office('acme', 'Paris', { is_default: true }))).toEqual(counts(2, 0));
    expect(await officesOf(world, 'acme')).toEqual(['London', 'Paris (default)']);
    expect(await officesOf(world, 'globex')).toEqual([]);
  });

  it.each([undefined, null])('with %s for is_default keeps the stored value', async (is_default) => {
    await load(office('acme', 'London', { is_default: true }), office('acme', 'Paris', { is_default: false }));
    expect(await load(office('acme', 'London', { is_default }), office('acme', 'Paris', { is_default }))).toEqual(counts(0, 2));
    expect(await officesOf(world, 'acme')).toEqual(['London (default)', 'Paris']);
  });

  it('that is a second default replaces the first, in the same batch or a later one', async () => {
    const lines = [office('acme', 'London', { is_default: true }), office('acme', 'Paris', { is_default: true })];
    expect(await load(...lines)).toEqual(counts(2, 0));
    expect(await officesOf(world, 'acme')).toEqual(['London', 'Paris (default)']);
    expect(await load(lines[0]!)).toEqual(counts(1, 0));
    expect(await officesOf(world, 'acme')).toEqual(['London (default)', 'Paris']);
  });

  it('can stop being the default, and then there is none', async () => {
    await load(office('acme', 'London', { is_default: true }), office('acme', 'London', { is_default: false }));
    expect(await officesOf(world, 'acme')).toEqual(['London']);
  });

  it('is unchanged the second time', async () => {
    const lines = [office('acme', 'London', { is_default: true }), office('acme', 'Paris')];
    expect(await load(...lines)).toEqual(counts(2, 0));
    expect(await load(...lines)).toEqual(counts(0, 2));
  });

  it('may have the same name in two organizations', async () => {
    await load(
      office('acme', 'London', { is_default: true }),
      office('globex', 'London', { is_default: true }),
      office('globex', 'Paris', { is_default: true }),
    );
    expect(await officesOf(world, 'acme')).toEqual(['London (default)']);
    expect(await officesOf(world, 'globex')).toEqual(['London', 'Paris (default)']);
  });

  it('differs from another by case, white space or Unicode form of its name', async () => {
    const names = ['London', 'london', ' London', 'Zürich', 'Zürich'.normalize('NFD')];
    expect(await load(...names.map((name) => office('acme', name)))).toEqual(counts(5, 0));
    expect((await officesOf(world, 'acme')).toSorted()).toEqual(names.toSorted());
  });

  it.each(['x', 'x'.repeat(200), '🙂'.repeat(200)])('may be named %j', async (name) => {
    expect(await load(office('acme', name))).toEqual(counts(1, 0));
  });

  it('is the only default, even if many defaults are imported at once', async () => {
    const names = Array.from({ length: 8 }, (_, i) => `Office ${i}`);
    await Promise.all(names.map((name) => load(office('acme', name, { is_default: true }))));
    const stored = await officesOf(world, 'acme');
    expect(stored.filter((name) => name.endsWith('(default)'))).toHaveLength(1);
    expect(stored).toHaveLength(names.length);
  });
});

describe('a bad line is refused by field and stores nothing', () => {
  it.each([
    ['name: is required', office('acme', undefined)],
    ['name: must be text', office('acme', 7)],
    ['name: must have 1 to 200 characters', office('acme', '')],
    ['name: must have 1 to 200 characters', office('acme', 'x'.repeat(201))],
    ['name: must not contain the NUL character', office('acme', 'a\0b')],
    ['name: must not contain a lone surrogate', office('acme', 'a\ud800')],
    ['is_default: must be true or false', office('acme', 'London', { is_default: 1 })],
    ['country: is not a known property', office('acme', 'London', { country: 'UK' })],
    ['deleted: is not possible for this type', office('acme', 'London', { deleted: true })],
    ['organization: must be an organization that exists', office('nobody', 'London')],
  ])('%s', async (problem, line) => {
    expect(await load(office('acme', 'before'), line, office('acme', 'after'))).toEqual({
      accepted: 2,
      unchanged: 0,
      refused: [`2: ${problem}`],
    });
    expect(await officesOf(world, 'acme')).toEqual(['after', 'before']);
  });
});
