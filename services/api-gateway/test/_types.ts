// Two organizations with the same ids of projects, entities and calls, and requests for their lists and changes.

import { ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import { sharedWorld, tenant } from '@crs/testing/world';
import { expect } from 'vitest';

export const ALL = 'call,project,entity';

/** The n-th id of a project or an entity. */
export const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

export interface Change {
  type: string;
  changed_at: string;
  call_id?: string | null;
  project_id?: string;
  entity_id?: string;
}

export type RecordsOfTypes = Awaited<ReturnType<typeof recordsOfTypes>>;

export async function recordsOfTypes() {
  const world = await sharedWorld();
  const keys = new Map<string, string>();
  const get = (organization: string, path: string, query: Record<string, string | number> = {}) => {
    const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])).toString();
    return world.rest(`/v1${path}${search && `?${search}`}`, { key: keys.get(organization) });
  };
  return {
    world,
    keys,
    get,
    changes: (organization: string, query: Record<string, string | number> = {}) => get(organization, '/changes', query),

    /** Creates an organization with the write surface, and a key of it. @returns its id */
    async createTenant(settings: object = {}): Promise<string> {
      const id = tenant('types');
      const rate_limit = { requests: 1_000_000, period_seconds: 60 };
      await world.load([
        { type: 'organization', id, name: id, write_surface: true, allowed_fields: ALLOWED_FIELDS, rate_limit, ...settings },
        { type: 'user', organization: id, email: 'ann@acme.example', name: 'Ann' },
        { type: 'billing_office', organization: id, name: 'London', is_default: true },
      ]);
      keys.set(id, await world.createKey(id));
      return id;
    },

    project: (organization: string, n: number, more: object = {}) =>
      world.load([{ type: 'project', organization, id: uuid(n), created_at: timeOf(n), name: `P${n}`, ...more }]),
    entity: (organization: string, n: number, more: object = {}) =>
      world.load([{ type: 'entity', organization, id: uuid(n), project_id: uuid(1), created_at: timeOf(n), ...more }]),
    call: (organization: string, id: string, more: object = {}) =>
      world.load([{ type: 'call', organization, id, created_at: timeOf(1), ...more }]),
    remove: (organization: string, type: 'project' | 'entity' | 'call', id: string) =>
      world.load([{ type, organization, id, deleted: true }]),

    /** Reads page after page to the end. @returns the changes, their summaries as `type id`, and the last cursor */
    async follow(organization: string, query: Record<string, string | number> = {}) {
      const seen: Change[] = [];
      for (let next = query; ;) {
        const { status, json, text } = await get(organization, '/changes', next);
        expect(status, text).toBe(200);
        expect(json.data.length).toBeLessThanOrEqual(Number(query['limit'] ?? 100));
        seen.push(...json.data);
        const cursor = json.next_cursor as string;
        next = { ...query, cursor };
        if (!json.has_more) return { seen, summaries: seen.map(summaryOf), cursor };
      }
    },
  };
}

/** Of the n-th record: the larger n, the later. */
export const timeOf = (n: number) => new Date(Date.UTC(2025, 0, 1, 0, n)).toISOString();

const summaryOf = ({ type, call_id, project_id, entity_id }: Change) => {
  const id = call_id ?? project_id ?? entity_id ?? '';
  return `${type} ${id.replace(/^0{8}-0000-4000-8000-0*/, '')}`.trim();
};
