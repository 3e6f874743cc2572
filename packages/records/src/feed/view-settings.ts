import { hash } from 'node:crypto';
import { Fresh } from '@crs/kit/fresh';
import type { CallOptions, ServiceClient } from '@crs/kit/rpc/client';
import type { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';

/** The settings that decide how an organization sees its records. */
export interface ViewSettings {
  /** Dotted paths of the call detail. */
  allowedFields: string[];
  anonymize: boolean;
  /** Increases with each change of the two. */
  version: number;
  changedAt: Date;
  /** See {@link settingsId}. */
  id: string;
}

/**
 * Identifies the settings that a page is rendered with. Hashes the values besides the version, because a new release may change the default
 * fields without a new version.
 */
export function settingsId({ version, allowedFields, anonymize }: Omit<ViewSettings, 'id' | 'changedAt'>): string {
  return hash('sha256', JSON.stringify([version, allowedFields.toSorted(), anonymize]), 'base64url').slice(0, 22);
}

/**
 * Caches the settings that decide how callers see calls. They come from auth, because a caller's token may be a second old. Auth says how long a
 * response may be used, and reports no change as done before that time is over.
 */
export class CurrentSettings {
  readonly #auth: ServiceClient<AuthServiceService>;
  readonly #cache = new Fresh<{ settings: ViewSettings; validMs: number }>({ maxAgeMs: ({ validMs }) => validMs, max: 10_000 });

  constructor(auth: ServiceClient<AuthServiceService>) {
    this.#auth = auth;
  }

  /** Returns settings that are still valid. Another replica may know newer ones, whose change isn't done yet. */
  async of({ organization }: { organization: string }, { token }: CallOptions, maxAgeMs?: number): Promise<ViewSettings> {
    // Without the caller's deadline and signal, because other callers share the request.
    return (await this.#cache.get(organization, () => this.#load({ token }), maxAgeMs)).settings;
  }

  /** Returns settings that are requested now or later. */
  newest(caller: { organization: string }, call: CallOptions): Promise<ViewSettings> {
    return this.of(caller, call, 0);
  }

  async #load(call: CallOptions) {
    const { changedAt, validMs, ...settings } = await this.#auth.getViewSettings({}, call);
    return { settings: { ...settings, changedAt: changedAt!, id: settingsId(settings) }, validMs };
  }
}
