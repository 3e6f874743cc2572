// Helpers for tests of GET /v1/changes: organizations with their own feeds, and a follower that reads a feed to its end.

import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { expect } from 'vitest';
import { callLine, PROJECT, sendBatch, tenantRecords } from './_records.ts';

type Query = Record<string, string | number>;
type Target = Parameters<World['operator']['erasers']['calls']['erase']>[0]['target'];

/** A change as the API returns it. */
export interface Change {
  type: string;
  call_id: string | null;
  changed_at: string;
  call?: object;
}

/** Creates organizations in the shared test environment, each with its own feed, and reads and changes their calls. */
export async function feeds() {
  const world = await sharedWorld();
  const keys = new Map<string, string>();

  const get = (organization: string, path: string, query: Query = {}) => {
    const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])).toString();
    return world.rest(`/v1${path}${text === '' ? '' : `?${text}`}`, { key: keys.get(organization) });
  };
  const changes = (organization: string, query: Query = {}) => get(organization, '/changes', query);
  const store = (organization: string, ids: string[], fields: object = {}) =>
    sendBatch(
      world,
      organization,
      ids.map((id) => callLine(organization, id, { created_at: '2025-03-01T00:00:00Z', ...fields })),
    );

  return {
    world,
    keys,
    get,
    changes,
    store,
    remove: (organization: string, ids: string[]) => store(organization, ids, { deleted: true, created_at: undefined }),
    erase: async (organization: string, target: Target) =>
      world.operator.erasers.calls.erase({ target }, await world.operator.operator(organization)),

    /** Creates an organization with a key. @returns its id */
    async createTenant(settings: object = {}): Promise<string> {
      const id = tenant('org');
      await world.load(tenantRecords(id, settings));
      keys.set(id, await world.createKey(id));
      return id;
    },

    /** Reads page after page to the end of the feed. @returns the changes, their summaries as `type call_id`, and the last cursor */
    async follow(organization: string, query: Query = {}) {
      const seen: Change[] = [];
      for (let next = query; ;) {
        const { status, json, text } = await changes(organization, next);
        expect(status, text).toBe(200);
        seen.push(...json.data);
        const cursor = json.next_cursor as string;
        next = { ...query, cursor };
        if (!json.has_more) return { seen, summaries: seen.map(({ type, call_id: id }) => `${type} ${id}`), cursor };
      }
    },
  };
}

export type Feeds = Awaited<ReturnType<typeof feeds>>;

/** The fields of a call that has names, texts, Q&A, both transcripts and a note. */
export const FULL = {
  project_id: PROJECT,
  conducted_by: 'ann@crs.example',
  anonymity_status: 'complete',
  expert: { name: 'Eva Muster', organization: 'Initech' },
  participants: [{ name: 'eva muster', role: 'expert', email: 'eva@initech.example' }],
  summary: 'Short.',
  qa_blocks: [{ question: 'Why?', answer: 'Because.' }],
  transcript: [{ speaker: 'Eva Muster', start_seconds: 1, text: 'Hello.' }],
  redacted_transcript: 'Expert: Hello.',
  notes: [{ email: 'ann@crs.example', text: 'secret' }],
};
