import { Fresh } from '@crs/kit/fresh';
import type { CallOptions, ServiceClient } from '@crs/kit/rpc/client';
import type { OrganizationIdentity } from '@crs/kit/rpc/identity';
import type { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { settingsId, type ViewSettings } from '../domain/change-cursor.ts';

interface Answer {
  settings: ViewSettings;
  /** How long it may be used, from its question on. */
  validMs: number;
}

/**
 * The settings that decide how callers see calls. The caller's token may be a second old, so auth is asked. It answers with a time in which the
 * answer may be used again, and reports no change as done before that time is over. Callers of one organization share a question.
 */
export class CurrentSettings {
  readonly #auth: ServiceClient<AuthServiceService>;
  readonly #answers = new Fresh<Answer>({ maxAgeMs: ({ validMs }) => validMs, max: 10_000 });

  constructor(auth: ServiceClient<AuthServiceService>) {
    this.#auth = auth;
  }

  /** The settings by an answer that is still valid. Another replica may know newer ones, whose change isn't done yet. */
  async of({ organization }: OrganizationIdentity, { token }: CallOptions): Promise<ViewSettings> {
    return (await this.#answers.get(organization, () => this.#ask({ token }))).settings;
  }

  /** The settings by a question that begins now or later. */
  async newest({ organization }: OrganizationIdentity, { token }: CallOptions): Promise<ViewSettings> {
    return (await this.#answers.get(organization, () => this.#ask({ token }), 0)).settings;
  }

  /** Others wait for the answer, too. So a caller who leaves, or whose time is over, doesn't cancel the question. */
  async #ask(call: CallOptions): Promise<Answer> {
    const { changedAt, validMs, ...settings } = await this.#auth.getViewSettings({}, call);
    return { settings: { ...settings, changedAt: changedAt!, id: settingsId(settings) }, validMs };
  }
}
