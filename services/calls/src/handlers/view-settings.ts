import { REASONS, ServiceError, unavailable } from '@crs/kit/errors';
import type { CallOptions, ServiceClient } from '@crs/kit/rpc/client';
import type { OrganizationIdentity } from '@crs/kit/rpc/identity';
import type { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import type { ViewSettings } from '../domain/change-cursor.ts';

type Ask = () => Promise<ViewSettings>;

/**
 * The settings that decide how callers see calls, as they are when a caller asks. The caller's token may be a second old. Callers of one
 * organization who come while a question is under way share the next one.
 */
export class CurrentSettings {
  readonly #auth: ServiceClient<AuthServiceService>;
  readonly #questions = new Map<string, { done: Promise<unknown>; next?: Promise<ViewSettings> }>();

  constructor(auth: ServiceClient<AuthServiceService>) {
    this.#auth = auth;
  }

  of(identity: OrganizationIdentity, { token }: CallOptions): Promise<ViewSettings> {
    const { organization } = identity;
    // Others wait for the answer, too. So a caller who leaves, or whose time is over, doesn't cancel the question.
    const ask = () => askFor(this.#auth, identity, { token });
    const underWay = this.#questions.get(organization);
    if (!underWay) return this.#begin(organization, ask);
    return (underWay.next ??= underWay.done.then(() => this.#begin(organization, ask)));
  }

  #begin(organization: string, ask: Ask): Promise<ViewSettings> {
    const answer = ask();
    const question: { done: Promise<unknown>; next?: Promise<ViewSettings> } = {
      done: answer.then(
        () => this.#end(organization, question),
        () => this.#end(organization, question),
      ),
    };
    this.#questions.set(organization, question);
    return answer;
  }

  /** Forgets the question, unless somebody waits for the next one, which then takes its place. */
  #end(organization: string, question: { next?: Promise<ViewSettings> }): void {
    if (!question.next) this.#questions.delete(organization);
  }
}

async function askFor(
  auth: ServiceClient<AuthServiceService>,
  identity: OrganizationIdentity,
  call: CallOptions,
): Promise<ViewSettings> {
  try {
    const { changedAt, ...settings } = await auth.getViewSettings({}, call);
    return { ...settings, changedAt: changedAt! };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.reason !== REASONS.notOffered) throw error;
    // Auth of the previous version writes them into the token alone.
    const { allowedFields, anonymize, settingsVersion: version, settingsChangedAt } = identity;
    if (version === undefined || settingsChangedAt === undefined) throw unavailable('The service is being upgraded.');
    return { allowedFields, anonymize, version, changedAt: new Date(settingsChangedAt) };
  }
}
