import type { ListChangesRequest, ListChangesResponse } from '@crs/proto/crs/feeds/v1/feeds';
import { expect, it } from 'vitest';
import { readPage, TYPES, type Feeds } from './read-page.ts';

const CHANGED_AT = new Date(0);
const REQUEST = {
  ...{ types: TYPES, cursor: 'a.b.c', limit: 10, withDetails: false },
  ...{ withoutVerbatim: false, withoutRedacted: false, withoutClean: false },
};

/** Fake feeds without changes. Each knows the settings 'old', which are those of the cursor, until it gets others or `expired` has it. */
function fakeFeeds(expired: readonly string[]): Feeds {
  const feedOf = (type: string) => {
    let settings = expired.includes(type) ? 'new' : 'old';
    const listChanges = (request: ListChangesRequest): Promise<ListChangesResponse> => {
      if (request.settings !== undefined && request.settings !== settings) settings = 'new';
      return Promise.resolve({
        changesJson: Buffer.from('[]'),
        nextCursor: `${request.cursor} of ${type}`,
        settings,
        accessChangedAt: settings === 'new' ? CHANGED_AT : undefined,
        ...{ hasMore: false, changeCount: 0, firstId: undefined, lastId: undefined, detailBytes: 0 },
      });
    };
    return { listChanges } as Feeds['call'];
  };
  return { project: feedOf('project'), entity: feedOf('entity'), call: feedOf('call') };
}

it.each([[[]], [['project']], [['entity']], [['call']], [['project', 'call']], [[...TYPES]]])(
  'all parts of a page have the newest settings, if at first only %j know them',
  async (expired) => {
    const page = await readPage(fakeFeeds(expired), REQUEST, {});
    expect(page.accessChangedAt).toEqual(expired.length > 0 ? CHANGED_AT : undefined);
    expect(page.changeCount).toBe(expired.length > 0 ? 1 : 0);
    expect(page.nextCursor).toBe('a of project.b of entity.c of call');
  },
);
