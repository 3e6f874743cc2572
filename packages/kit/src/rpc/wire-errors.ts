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
 * The status that ends a call: a canonical code, and an `ErrorInfo` for programs. For a program that isn't admitted, the RPC doesn't exist: a
 * replica of another version may admit it, and UNIMPLEMENTED makes clients try one.
 */
export function encodeError({ kind, reason, message, field, retryAfterSeconds }: ServiceError): Omit<StatusObject, 'cause'> {
  const info = ErrorInfo.encode({
    reason,
    domain: DOMAIN,
    metadata: {
      ...(field !== undefined && { field }),
      ...(retryAfterSeconds !== undefined && { retry_after_seconds: String(retryAfterSeconds) }),
    },
  });
  const code = reason === REASONS.peerNotAdmitted ? status.UNIMPLEMENTED : CODES[kind];
  const details = [{ typeUrl: ERROR_INFO, value: Buffer.from(info.finish()) }];
  const metadata = new Metadata();
  metadata.set(DETAILS, Buffer.from(Status.encode({ code, message, details }).finish()));
  return { code, details: message, metadata };
}

/**
 * The error behind a failed call. Only errors of our own services keep their text. Text of the transport goes into `cause`, and a status that our
 * services don't send becomes `internal`. A call that the target lacks, or isn't for this program, becomes `unavailable`.
 */
export function decodeError(failure: StatusObject, target: string): ServiceError {
  const { code, details } = failure;
  if (code === status.UNIMPLEMENTED) {
    const options = { reason: REASONS.notOffered, retryAfterSeconds: 1, cause: failure };
    return new ServiceError('unavailable', `The ${target} service doesn't offer this call.`, options);
  }
  const kind = KINDS.get(code) ?? 'internal';
  const info = infoOf(failure.metadata);
  if (info) {
    const { field, retry_after_seconds: retry } = info.metadata;
    return new ServiceError(kind, details, {
      reason: info.reason,
      ...(field !== undefined && { field }),
      ...(retry !== undefined && { retryAfterSeconds: Number(retry) }),
    });
  }
  if (kind === 'unavailable' || kind === 'resource_exhausted' || CUT_OFF.test(details)) return notAvailable(target, failure);
  if (kind === 'deadline_exceeded') {
    const options = { retryAfterSeconds: 1, cause: failure };
    return new ServiceError('deadline_exceeded', `The ${target} service took too long to answer.`, options);
  }
  return new ServiceError('internal', 'An unexpected error occurred.', { cause: failure });
}

/** The error of a call that reached no replica, or that got no answer from one. */
export function notAvailable(target: string, cause: unknown): ServiceError {
  return unavailable(`The ${target} service is not available.`, cause);
}

/** What one of our services says about an error. */
function infoOf(metadata: Metadata): ErrorInfo | undefined {
  const [bytes] = metadata.get(DETAILS);
  if (!(bytes instanceof Buffer)) return undefined;
  const detail = Status.decode(bytes).details.find(({ typeUrl }) => typeUrl === ERROR_INFO);
  const info = detail && ErrorInfo.decode(detail.value);
  return info?.domain === DOMAIN ? info : undefined;
}
