/** The register of requests: the facts that the log line of a request names, so that the log tells who asked for which records. */
import { ServiceError } from '../errors.ts';
import { digestOf, isApiKey } from '../api-key.ts';
import { CALL_ID } from '../text.ts';
import type { Refusal } from './refusal.ts';

/**
 * Facts about a request for its line in the log, under the names of the line: identifiers, instants, numbers and words of closed lists.
 * No fact may hold text that people write. `docs/log.md` describes each.
 */
export interface RequestFacts {
  organization?: string;
  key_id?: string;
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

/** The id of a call that a client asks for, if it may be logged: it has the form of an id, and isn't a key that was put into its place. */
export function loggedCallId(text: string): string | undefined {
  return CALL_ID.test(text) && !isApiKey(text) ? text : undefined;
}

/** A client id may be the address of a document that the client chose. */
const MAX_CLIENT_ID = 200;

/** The id of an OAuth client, cut to a length that a log can take. */
export function loggedClientId(clientId = ''): string | undefined {
  return clientId === '' ? undefined : clientId.slice(0, MAX_CLIENT_ID);
}

/** Why a request is refused, as facts: the code that the client reads, and the reason of the error behind it. */
export function refusalFacts({ code, cause }: Refusal): Pick<RequestFacts, 'code' | 'reason'> {
  return { code, ...(cause instanceof ServiceError && { reason: cause.reason }) };
}

/** The page of a list that a request has read, as facts. */
export function pageFacts(ids: string[]): Pick<RequestFacts, 'rows' | 'first_id' | 'last_id'> {
  return { rows: ids.length, first_id: ids[0], last_id: ids.at(-1) };
}

const BEARER = /^Bearer +(\S+)$/i;

/**
 * The first 12 hexadecimal digits of the SHA-256 of a bearer credential, by which a leaked credential is found in the log.
 * @param authorization the header
 */
export function credentialPrefix(authorization = ''): string | undefined {
  const credential = BEARER.exec(authorization)?.[1];
  return credential === undefined ? undefined : digestOf(credential).toString('hex', 0, 6);
}
