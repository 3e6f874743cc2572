import type { AuthenticateKeyResponse } from '@crs/proto/crs/auth/v1/auth';
import type { Bulkhead } from '@crs/kit/limits/bulkhead';
import type { NextFunction, Request, Response } from 'express';
import { Attached } from '@crs/kit/http/attached';
import { addressOf, chargeAddress, limitHeaders, refusalOf, type AddressCharging } from '@crs/kit/http/charge';
import type { RefusalCounts } from '@crs/kit/http/refusal-counts';
import { credentialPrefix } from '@crs/kit/http/register';
import { stateOf } from '@crs/kit/http/request';
import { takeSlot } from '@crs/kit/http/slots';
import type { Credentials } from './credentials.ts';

export interface AdmissionOptions extends AddressCharging {
  credentials: Credentials;
  /** Of organizations. */
  slots: Bulkhead;
  refusals: RefusalCounts;
}

/**
 * Authenticates a request and charges it once, whatever its answer will be: to the organization of its key or, without a usable key, to
 * the client's address. A request without a usable key goes on, because some paths need none; `requireKey` refuses it elsewhere. A request
 * of an organization then waits for one of its slots; where it may have a body, only after the body is there.
 */
export function admission(options: AdmissionOptions) {
  return async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    let credential: AuthenticateKeyResponse | undefined;
    try {
      credential = await options.credentials.resolve(request.headers.authorization, {
        deadline: stateOf(response).deadline,
        address: () => addressOf(options, request),
      });
      const { callerTokens, organizationId: organization, keyId: key_id } = credential;
      const state = stateOf(response);
      state.callerToken = callerTokens;
      Object.assign(state.facts, { organization, key_id });
      credentials.set(response, credential);
    } catch (error) {
      noCredential.set(response, error);
      stateOf(response).facts.credential = credentialPrefix(request.headers.authorization);
    }
    const decision = await (credential === undefined
      ? chargeAddress(options, request)
      : options.limiter.check({ kind: 'organization', id: credential.organizationId, rule: credential.rateLimit! }));
    response.set(limitHeaders(decision));
    const refusal = refusalOf(decision, credential === undefined ? 'this address' : 'the organization');
    if (refusal) throw refusal;
    if (credential !== undefined) {
      const { organizationId } = credential;
      const take = () => takeSlot(options.slots, organizationId, response);
      if (request.method === 'POST') admitted.set(response, { address: addressOf(options, request), takeSlot: take });
      else await take();
    }
    next();
  };
}

const credentials = new Attached<Response, AuthenticateKeyResponse>();
const admitted = new Attached<Response, Admitted>();
const noCredential = new Attached<Response, unknown>();

/** Auth's answer about the key of a request; undefined where the request has no usable key. */
export function credentialOf(response: Response): AuthenticateKeyResponse | undefined {
  return credentials.get(response);
}

/** A POST that is admitted but has no slot yet. */
interface Admitted {
  /** The client's address. */
  address: string;
  /** Takes a slot of the organization until the answer is sent. */
  takeSlot: () => Promise<void>;
}

export function admittedOf(response: Response): Admitted {
  return admitted.get(response)!;
}

/** Lets only requests with a usable key pass. @throws Refusal, or ServiceError where auth can't be asked */
export function requireKey(_request: Request, response: Response, next: NextFunction): void {
  const error = noCredential.get(response);
  if (error !== undefined) throw error;
  next();
}
