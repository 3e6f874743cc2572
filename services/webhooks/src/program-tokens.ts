import { ServiceError } from '@crs/kit/errors';
import { Fresh } from '@crs/kit/fresh';
import type { CallOptions, ServiceClient } from '@crs/kit/rpc/client';
import type { AuthenticateProgramResponse, AuthServiceService } from '@crs/proto/crs/auth/v1/auth';

/** A token lives 30 s. The difference covers the calls that it is sent with. */
const RENEW_AFTER_MS = 20_000;
const AUDIENCES = ['calls', 'auth'];

/** An organization as it is now. */
export interface CurrentOrganization {
  /** A later organization of the same id has another time. */
  createdAt: Date;
  /** This program's tokens for it. Undefined: it is suspended. */
  call: CallOptions | undefined;
}

/** Gets this program's tokens from auth. */
export class ProgramTokens {
  readonly #auth: ServiceClient<AuthServiceService>;
  readonly #credential: string;
  readonly #cache = new Fresh<CallOptions>({ maxAgeMs: RENEW_AFTER_MS });

  constructor(auth: ServiceClient<AuthServiceService>, credential: string) {
    this.#auth = auth;
    this.#credential = credential;
  }

  /** Not cached, so that no message goes out once an organization is suspended or deleted. @throws ServiceError not_found if it doesn't exist */
  async organization(organizationId: string): Promise<CurrentOrganization> {
    const { callerTokens, organizationCreatedAt, suspended } = await this.#authenticate(organizationId);
    return { createdAt: organizationCreatedAt!, call: suspended ? undefined : { token: callerTokens } };
  }

  /** Returns the token without an organization. */
  ofNone(): Promise<CallOptions> {
    return this.#cache.get('', async () => ({ token: (await this.#authenticate(undefined)).callerTokens }));
  }

  #authenticate(organizationId: string | undefined): Promise<AuthenticateProgramResponse> {
    return this.#auth.authenticateProgram({ credential: this.#credential, organizationId, audiences: AUDIENCES });
  }
}

export function suspended(): ServiceError {
  return new ServiceError('failed_precondition', 'The organization is suspended.');
}
