import { Metadata, status, type StatusObject } from '@grpc/grpc-js';
import { ErrorInfo } from '@crs/proto/google/rpc/error_details';
import { Status } from '@crs/proto/google/rpc/status';
import { REASONS, ServiceError, unavailable, type ErrorKind } from '../errors.ts';

const DOMAIN = 'call-research';
const DETAILS = 'grpc-status-details-bin';
const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo';

const CODES: Record<ErrorKind, status> = {
  invalid_argument: status.INVALID_ARGUMENT,
  unauthenticated: status.UNAUTHENTICATED,
  permission_denied: status.PERMISSION_DENIED,
  not_found: status.NOT_FOUND,
  already_exists: status.ALREADY_EXISTS,
  failed_precondition: status.FAILED_PRECONDITION,
  aborted: status.ABORTED,
  resource_exhausted: status.RESOURCE_EXHAUSTED,
  unavailable: status.UNAVAILABLE,
  deadline_exceeded: status.DEADLINE_EXCEEDED,
  internal: status.INTERNAL,
};
const KINDS = new Map<number, ErrorKind>(Object.entries(CODES).map(([kind, code]) => [code, kind as ErrorKind]));

/** The text of grpc-js for a stream that ended without a status, as when a server closes the connection. Its code is INTERNAL. */
const CUT_OFF = /^Received RST_STREAM /;

/**
 * The wire form of an error: a canonical status, and an `ErrorInfo` for programs. For a program that isn't admitted, the RPC doesn't exist: a
 * replica of another version may admit it, and UNIMPLEMENTED makes clients try one.
 */
function encodeStatus(error: ServiceError): Status {
  const metadata: Record<string, string> = {};
  if (error.field !== undefined) metadata['field'] = error.field;
  if (error.retryAfterSeconds !== undefined) metadata['retry_after_seconds'] = String(error.retryAfterSeconds);
  const info = ErrorInfo.encode({ reason: error.reason, domain: DOMAIN, metadata }).finish();
  const details = [{ typeUrl: ERROR_INFO, value: Buffer.from(info) }];
  const code = error.reason === REASONS.peerNotAdmitted ? status.UNIMPLEMENTED : CODES[error.kind];
  return { code, message: error.message, details };
}

/** The status that ends a call. */
export function encodeError(error: ServiceError): Pick<StatusObject, 'code' | 'details' | 'metadata'> {
  const encoded = encodeStatus(error);
  const metadata = new Metadata();
  metadata.set(DETAILS, Buffer.from(Status.encode(encoded).finish()));
  return { code: encoded.code, details: error.message, metadata };
}

/** The error behind a failed call. */
export function decodeError(failure: StatusObject & { message?: string }, target: string): ServiceError {
  const [bytes] = failure.metadata?.get(DETAILS) ?? [];
  const info = bytes instanceof Buffer ? infoOf(Status.decode(bytes)) : undefined;
  return errorOf(failure.code, failure.details, info, target, failure);
}

/** The error of a call that no replica offers. */
export function notOffered(target: string, cause?: unknown): ServiceError {
  const message = `The ${target} service doesn't offer this call.`;
  return new ServiceError('unavailable', message, { reason: REASONS.notOffered, retryAfterSeconds: 1, cause });
}

/** The error of a call that reached no replica, or that got no answer from one. */
export function notAvailable(target: string, cause: unknown): ServiceError {
  return unavailable(`The ${target} service is not available.`, cause);
}

/** The error of a call without an answer at its deadline. */
export function tookTooLong(target: string, cause?: unknown): ServiceError {
  return new ServiceError('deadline_exceeded', `The ${target} service took too long to answer.`, { retryAfterSeconds: 1, cause });
}

/**
 * Only errors of our own services keep their text. Text of the transport goes into `cause`, and a status that our services don't send
 * becomes `internal`. A call that the target lacks, or isn't for this program, becomes `unavailable`.
 */
function errorOf(code: number, details: string, info: ErrorInfo | undefined, target: string, cause: unknown): ServiceError {
  const kind = KINDS.get(code) ?? 'internal';
  if (code === status.UNIMPLEMENTED) return notOffered(target, cause);
  if (info) {
    const retry = info.metadata['retry_after_seconds'];
    return new ServiceError(kind, details, {
      reason: info.reason,
      ...(info.metadata['field'] !== undefined && { field: info.metadata['field'] }),
      ...(retry !== undefined && { retryAfterSeconds: Number(retry) }),
    });
  }
  switch (kind) {
    case 'unavailable':
    case 'resource_exhausted':
      return notAvailable(target, cause);
    case 'deadline_exceeded':
      return tookTooLong(target, cause);
    default:
      if (CUT_OFF.test(details)) return notAvailable(target, cause);
      return new ServiceError('internal', 'An unexpected error occurred.', { cause });
  }
}

function infoOf({ details }: Status): ErrorInfo | undefined {
  const detail = details.find(({ typeUrl }) => typeUrl === ERROR_INFO);
  const info = detail && ErrorInfo.decode(detail.value);
  return info?.domain === DOMAIN ? info : undefined;
}
