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

/** The message of grpc-js, with code INTERNAL, when a stream ends without a status, for example because the server closed the connection. */
const STREAM_RESET = /^Received RST_STREAM /;

/**
 * Encodes an error as a canonical code with an `ErrorInfo`. A program that isn't admitted gets UNIMPLEMENTED, so that clients retry: a replica of
 * another version may admit it.
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
 * Decodes the error of a failed call. Only errors from our own services keep their message; that of the transport goes into `cause`. UNIMPLEMENTED
 * becomes `unavailable`, and a status that our services don't send becomes `internal`.
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
  if (kind === 'unavailable' || kind === 'resource_exhausted' || STREAM_RESET.test(details)) return notAvailable(target, failure);
  if (kind === 'deadline_exceeded') {
    const options = { retryAfterSeconds: 1, cause: failure };
    return new ServiceError('deadline_exceeded', `The ${target} service took too long to answer.`, options);
  }
  return new ServiceError('internal', 'An unexpected error occurred.', { cause: failure });
}

/** The error of a call that reached no replica, or got no response. */
export function notAvailable(target: string, cause: unknown): ServiceError {
  return unavailable(`The ${target} service is not available.`, cause);
}

/** Returns the `ErrorInfo` if one of our services sent the error. */
function infoOf(metadata: Metadata): ErrorInfo | undefined {
  const [bytes] = metadata.get(DETAILS);
  if (!(bytes instanceof Buffer)) return undefined;
  const detail = Status.decode(bytes).details.find(({ typeUrl }) => typeUrl === ERROR_INFO);
  const info = detail && ErrorInfo.decode(detail.value);
  return info?.domain === DOMAIN ? info : undefined;
}
