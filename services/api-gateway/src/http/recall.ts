import type { IncomingMessage } from 'node:http';
import { limitHeaders, overLimit, recentAddressOf } from '@crs/kit/http/charge';
import { hasOneHost, plainPath, type Recall, type Recalled } from '@crs/kit/http/front';
import type { RefusalParts } from '@crs/kit/http/refusal';
import type { Check } from '@crs/kit/limits/limiter';
import type { Decision } from '@crs/kit/limits/rule';
import { TABLES } from '../routes/index.ts';
import type { AdmissionOptions } from './admission.ts';
import { unauthorized } from './refusal.ts';

const UNAUTHORIZED = unauthorized();
const OPEN_PATHS = new Set(Object.keys(TABLES.open).map((path) => `/v1${path}`));

/**
 * The refusals that are known before the app works: 429 where the limit of the key's organization is used up, or of the address of a
 * request without a usable key; and 401 for that request where it asks for anything that needs a key. The charges are those of `admission`.
 */
export function recallRefusal(options: AdmissionOptions): Recall {
  const { credentials, limiter, addressLimit } = options;
  const addressOf = recentAddressOf(options);
  return (request) => {
    const credential = credentials.recall(request.headers.authorization);
    if (credential === undefined) return undefined;
    const address = addressOf(request);
    if (credential.answer) {
      const { organizationId, rateLimit, keyId } = credential.answer;
      const decision = limiter.recall({ kind: 'organization', id: organizationId, rule: rateLimit! });
      const sender = { client_address: address, organization: organizationId, key_id: keyId };
      return decision && refused(overLimit(decision, 'the organization'), decision, sender);
    }
    const check: Check = { kind: 'address', id: address, rule: addressLimit };
    const sender = { client_address: address, credential: credential.prefix };
    const known = limiter.recall(check);
    if (known) return refused(overLimit(known, 'this address'), known, sender);
    if (!needsKey(request)) return undefined;
    const decide = (decision: Decision) =>
      refused(decision.allowed ? UNAUTHORIZED : overLimit(decision, 'this address'), decision, sender);
    return limiter.checkAtLeisure(check).then(decide);
  };
}

function refused({ status, code, message, headers }: RefusalParts, decision: Decision, sender: Recalled['sender']): Recalled {
  return { refusal: { status, code, message, headers: { ...limitHeaders(decision), ...headers } }, route: 'none', sender };
}

/** Whether a well-formed request asks for anything that needs a key. */
function needsKey(request: IncomingMessage): boolean {
  const path = plainPath(request);
  if (path === undefined || !path.startsWith('/v1/') || OPEN_PATHS.has(path)) return false;
  return Boolean(request.headers.host) && hasOneHost(request);
}
