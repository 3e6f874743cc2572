/** The fields of the access log, which documents which caller read or changed which records. */
import { ServiceError } from '../errors.ts';
import { digestOf, isApiKey } from '../api-key.ts';
import { CALL_ID } from '../text.ts';
import type { Refusal } from './refusal.ts';

/**
 * The fields that a request's handler adds to its access log line: identifiers, timestamps, numbers and words from closed lists, never text that people
 * wrote. `docs/log.md` describes each.
 */
export interface AccessLogFields {
  organization?: string;
  key_id?: string;
  scim_token_id?: string;
  grant_id?: string;
  user_id?: string;
  client_id?: string | undefined;
  credential?: string | undefined;
  operation?: string;
  tool?: string;
  tool_status?: number;
  code?: string;
  reason?: string;
  call_id?: string | undefined;
  project_id?: string | undefined;
  query?: Record<string, Date | number | boolean | string | undefined>;
  rows?: number | undefined;
  first_id?: string | undefined;
  last_id?: string | undefined;
}

/** Returns a requested call id if it may be logged: a well-formed id that isn't a misplaced API key. */
export function loggedCallId(text: string): string | undefined {
  return CALL_ID.test(text) && !isApiKey(text) ? text : undefined;
}

/** Bounds the logged length, because a client id may be a URL that the client chose. */
const MAX_CLIENT_ID = 200;

export function loggedClientId(clientId = ''): string | undefined {
  return clientId === '' ? undefined : clientId.slice(0, MAX_CLIENT_ID);
}

/** Returns the error code that the client gets, and the reason of the underlying error. */
export function refusalFields({ code, cause }: Refusal): Pick<AccessLogFields, 'code' | 'reason'> {
  return { code, ...(cause instanceof ServiceError && { reason: cause.reason }) };
}

export function pageFields(ids: string[]): Pick<AccessLogFields, 'rows' | 'first_id' | 'last_id'> {
  return { rows: ids.length, first_id: ids[0], last_id: ids.at(-1) };
}

const BEARER = /^Bearer +(\S+)$/i;

/**
 * Returns the first 12 hexadecimal digits of the SHA-256 of a bearer credential, so that the use of a leaked credential can be found in the log.
 * @param authorization the `Authorization` header
 */
export function credentialPrefix(authorization = ''): string | undefined {
  const credential = BEARER.exec(authorization)?.[1];
  return credential === undefined ? undefined : digestOf(credential).toString('hex', 0, 6);
}
