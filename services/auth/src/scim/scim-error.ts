import { Refusal, toRefusal } from '@crs/kit/http/refusal';
import { ERROR_SCHEMA } from './schema-urns.ts';

/** The kinds of RFC 7644, section 3.12, that this server uses. */
type ScimType = 'invalidFilter' | 'uniqueness' | 'mutability' | 'invalidSyntax' | 'invalidPath' | 'noTarget' | 'invalidValue';

/** An error response of SCIM. The message is public. */
export class ScimError extends Error {
  override readonly name = 'ScimError';
  readonly status: number;
  readonly scimType: ScimType | undefined;
  readonly headers: Record<string, string>;

  constructor(
    status: number,
    detail: string,
    { scimType, headers = {}, cause }: { scimType?: ScimType; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(detail, { cause });
    this.status = status;
    this.scimType = scimType;
    this.headers = headers;
  }
}

/** @param problem continues the sentence that starts with the attribute's name: `must be ...` */
export function invalidValue(attribute: string, problem: string): ScimError {
  return new ScimError(400, `${attribute} ${problem}.`, { scimType: 'invalidValue' });
}

export function noSuchResource(): ScimError {
  return new ScimError(404, 'There is no resource with this id.');
}

export function unauthorized(): ScimError {
  const headers = { 'WWW-Authenticate': 'Bearer' };
  return new ScimError(401, 'The SCIM token is missing, unknown or revoked.', { headers });
}

/** Converts any thrown value. An unexpected error becomes an opaque 500, with the error as its cause for the log. */
export function toScimError(thrown: unknown): ScimError {
  if (thrown instanceof ScimError) return thrown;
  if (!(thrown instanceof Refusal) && isRequestError(thrown)) {
    if (thrown.status === 413) return new ScimError(413, 'The body is larger than 1 MiB.');
    if (thrown.status === 415) return new ScimError(415, 'The body must be uncompressed JSON in UTF-8.');
    return new ScimError(400, 'The body is not JSON.', { scimType: 'invalidSyntax' });
  }
  const { status, message, headers } = toRefusal(thrown);
  return new ScimError(status, message, { headers, cause: thrown });
}

/** An error of Express or its body parser, which set a status. */
function isRequestError(thrown: unknown): thrown is Error & { status: number } {
  return thrown instanceof Error && 'status' in thrown && typeof thrown.status === 'number' && thrown.status < 500;
}

export function renderError({ status, scimType, message }: ScimError): object {
  return { schemas: [ERROR_SCHEMA], status: String(status), ...(scimType && { scimType }), detail: message };
}
