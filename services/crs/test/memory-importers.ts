// Fake services for tests of `crs import`.

import type { ImportError } from '@crs/proto/crs/imports/v1/imports';
import type { Send } from '../src/import/run.ts';

interface TestRecord {
  type: string;
  id?: string;
  email?: string;
  deleted?: true;
  members?: string[];
  project?: string;
  office?: string;
  user?: string;
}

/** Services in memory that check references as the real ones do: against the records that are already stored. */
export function memoryImporters(): { send: Send; state(): string[] } {
  const organizations = new Map<string, Map<string, string>>();

  /** @returns `accepted`, `unchanged`, or the field that the record is refused for */
  const store = (organization: string, record: TestRecord): string => {
    if (record.type === 'organization') {
      if (organizations.has(organization)) return 'unchanged';
      organizations.set(organization, new Map());
      return 'accepted';
    }
    const records = organizations.get(organization);
    if (!records) return 'organization';
    const key = `${record.type} ${record.email ?? record.id}`;
    if (record.deleted) return records.delete(key) ? 'accepted' : 'unchanged';
    for (const member of record.members ?? []) if (!records.has(`user ${member}`)) return 'members';
    if (record.office !== undefined && !records.has(`billing_office ${record.office}`)) return 'office';
    if (record.project !== undefined && !records.has(`project ${record.project}`)) return 'project';
    if (record.user !== undefined && !records.has(`user ${record.user}`)) return 'user';
    const content = JSON.stringify(record);
    if (records.get(key) === content) return 'unchanged';
    records.set(key, content);
    return 'accepted';
  };

  return {
    send: async ({ organization, lines }) => {
      await Promise.resolve();
      const answer = { accepted: 0, unchanged: 0, errors: [] as ImportError[] };
      for (const { number, json } of lines) {
        const result = store(organization, JSON.parse(json.toString()) as TestRecord);
        if (result === 'accepted' || result === 'unchanged') answer[result]++;
        else answer.errors.push({ line: number, field: result, reason: 'must exist', holdId: '' });
      }
      return answer;
    },
    state: () =>
      [...organizations]
        .flatMap(([organization, records]) => [...records].map((record) => [organization, ...record].join(' ')))
        .toSorted(),
  };
}
