import type { CallOptions, ServiceClient } from '@crs/kit/rpc/client';
import type { OrganizationIdentity } from '@crs/kit/rpc/identity';
import type { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { LRUCache } from 'lru-cache';
import { settingsId, type ViewSettings } from '../domain/change-cursor.ts';

interface Answer {
  settings: ViewSettings;
  /** How long it may be used, from its question on. */
  validMs: number;
}

interface Question {
  /** By `performance.now()`. */
  askedAt: number;
  answer: Promise<Answer>;
}

/**
 * The settings that decide how callers see calls. The caller's token may be a second old, so auth is asked. It answers with a time in which the
 * answer may be used again, and reports no change as done before that time is over. Callers of one organization share a question.
 */
export class CurrentSettings {
  readonly #auth: ServiceClient<AuthServiceService>;
  readonly #questions = new LRUCache<string, Question>({ max: 10_000 });

  constructor(auth: ServiceClient<AuthServiceService>) {
    this.#auth = auth;
  }

  /** The settings by an answer that is still valid. Another replica may know newer ones, whose change isn't done yet. */
  of(identity: OrganizationIdentity, call: CallOptions): Promise<ViewSettings> {
    return this.#find(identity, call, ({ validMs }) => validMs);
  }

  /** The settings by a question that begins now or later. */
  newest(identity: OrganizationIdentity, call: CallOptions): Promise<ViewSettings> {
    return this.#find(identity, call, () => 0);
  }

  async #find(identity: OrganizationIdentity, { token }: CallOptions, oldest: (answer: Answer) => number): Promise<ViewSettings> {
    const { organization } = identity;
    const arrivedAt = performance.now();
    for (;;) {
      const known = this.#questions.get(organization);
      if (known) {
        // If the question fails, it fails for its own caller alone.
        const answer = await known.answer.catch(() => undefined);
        if (answer && known.askedAt + oldest(answer) >= arrivedAt) return answer.settings;
        if (this.#questions.get(organization) !== known) continue;
      }
      // Others wait for the answer, too. So a caller who leaves, or whose time is over, doesn't cancel the question.
      const asked = { askedAt: performance.now(), answer: ask(this.#auth, { token }) };
      this.#questions.set(organization, asked);
      return (await asked.answer).settings;
    }
  }
}

async function ask(auth: ServiceClient<AuthServiceService>, call: CallOptions): Promise<Answer> {
  const { changedAt, validMs, ...settings } = await auth.getViewSettings({}, call);
  return { settings: { ...settings, changedAt: changedAt!, id: settingsId(settings) }, validMs };
}
