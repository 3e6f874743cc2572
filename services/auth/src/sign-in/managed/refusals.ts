import type { ClaimFault } from '../../domain/identity-assertion.ts';
import { errors } from '../oidc-library.ts';
import { SignInRefusal } from '../federation/refusals.ts';

/** Before the signature is verified. The client learns nothing more, so that nobody can find out which issuers are listed. */
type UnverifiedFault = 'wrong type' | 'wrong algorithm' | 'unknown key' | 'invalid signature' | 'issuer unavailable';

/** The audit trail groups refusals by their reason. */
export type AssertionReason =
  UnverifiedFault | ClaimFault | 'no scope' | 'replayed' | 'issuer not listed' | 'client not listed' | SignInRefusal['reason'];

/** Why an identity assertion of a listed issuer is refused. */
export class AssertionRefusal extends Error {
  override readonly name = 'AssertionRefusal';
  readonly reason: AssertionReason;
  /** For the audit trail. It holds no claim of an assertion whose signature isn't verified, and no cause of a failed fetch. */
  readonly detail: string | undefined;
  /** For the client. */
  readonly description: string;

  constructor(
    reason: AssertionReason,
    { detail, description, cause }: { detail?: string; description: string; cause?: unknown },
  ) {
    super(description, { cause });
    this.reason = reason;
    this.detail = detail;
    this.description = description;
  }
}

const UNTRUSTED = 'the assertion must be an ID-JAG, signed with a published key of an issuer that an organization here lists';
const NO_USER = 'the assertion names no user who can be connected; the audit trail of the organization says why';

export function unverified(reason: UnverifiedFault, detail?: string, cause?: unknown): AssertionRefusal {
  return new AssertionRefusal(reason, { ...(detail !== undefined && { detail }), description: UNTRUSTED, cause });
}

export function refused(reason: Exclude<AssertionReason, UnverifiedFault>): AssertionRefusal {
  return new AssertionRefusal(reason, { description: `the assertion is refused: ${reason}` });
}

export function noScope(): AssertionRefusal {
  const description = 'the assertion and the request have no scope of this server in common';
  return new AssertionRefusal('no scope', { description });
}

/** Hides from the client which users exist. */
export function withoutUser({ reason, detail }: SignInRefusal): AssertionRefusal {
  return new AssertionRefusal(reason, { ...(detail !== undefined && { detail }), description: NO_USER });
}

/** The response to the client. @param refusal undefined: no organization lists the issuer */
export function toOAuthError(refusal?: AssertionRefusal): InstanceType<typeof errors.OIDCProviderError> {
  const { reason = 'unknown issuer', description = UNTRUSTED, cause } = refusal ?? {};
  const error = reason === 'no scope' ? 'invalid_scope' : 'invalid_grant';
  return new errors.CustomOIDCProviderError(error, description, { detail: reason, cause });
}
