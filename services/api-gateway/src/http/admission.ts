import type { AuthenticateKeyResponse } from '@crs/proto/crs/auth/v1/auth';
import type { NextFunction, Request, Response } from 'express';
import { Attached } from '@crs/kit/http/attached';
import { addressCheck, addressOf, limitHeaders, refusalOf, type AddressCharging } from '@crs/kit/http/charge';
import type { RefusalCounts } from '@crs/kit/http/refusal-counts';
import type { RequestQueue } from '@crs/kit/http/request-queue';
import { credentialPrefix } from '@crs/kit/http/register';
import { stateOf } from '@crs/kit/http/request';
import type { Credentials } from './credentials.ts';

export interface AdmissionOptions extends AddressCharging {
  credentials: Credentials;
  queue: RequestQueue;
  refusals: RefusalCounts;
}

/**
 * Authenticates a request and charges it once, whatever its answer will be: to the organization of its key or, without a usable key, to
 * the client's address. A request without a usable key goes on, because some paths need none; `requireKey` refuses it elsewhere. A request
 * of an organization then waits for its turn; where it may have a body, only after the body is there.
 */
export function admission(options: AdmissionOptions) {
  return async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    let credential: AuthenticateKeyResponse | undefined;
    const address = addressOf(options, request);
    const check = addressCheck(address, options.addressLimit);
    try {
      credential = await options.credentials.resolve(request.headers.authorization, {
        deadline: stateOf(response).deadline,
        check: () => check,
      });
      const { callerTokens, organizationId: organization, keyId: key_id } = credential;
      const state = stateOf(response);
      state.callerToken = callerTokens;
      Object.assign(state.facts, { organization, key_id });
      credentials.set(response, credential);
    } catch (error) {
      noCredential.set(response, error);
    }
    const decision = await options.limiter.check(
      credential === undefined ? check : { kind: 'organization', id: credential.organizationId, rule: credential.rateLimit! },
    );
    response.set(limitHeaders(decision));
    const refusal = refusalOf(decision, credential === undefined ? 'this address' : 'the organization');
    if (refusal) throw refusal;
    if (credential === undefined) stateOf(response).facts.credential = credentialPrefix(request.headers.authorization);
    else {
      const { organizationId } = credential;
      const enter = () => options.queue.enter(organizationId, response);
      if (request.method === 'POST') admitted.set(response, { address, enter });
      else await enter();
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

/** A POST that is admitted but has not waited for its turn yet. */
interface Admitted {
  /** The client's address. */
  address: string;
  /** Waits for the turn of the request's work. */
  enter: () => Promise<void>;
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
