import { Metadata, status, type StatusObject } from '@grpc/grpc-js';
import { ErrorInfo } from '@crs/proto/google/rpc/error_details';
import { Status } from '@crs/proto/google/rpc/status';
import { REASONS, ServiceError, type ErrorKind } from '../errors.ts';

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

/** The wire form of an error: a canonical status, and an `ErrorInfo` for programs. */
export function encodeError(error: ServiceError): Pick<StatusObject, 'code' | 'details' | 'metadata'> {
  const metadata: Record<string, string> = {};
  if (error.field !== undefined) metadata['field'] = error.field;
  if (error.retryAfterSeconds !== undefined) metadata['retry_after_seconds'] = String(error.retryAfterSeconds);
  const info = ErrorInfo.encode({ reason: error.reason, domain: DOMAIN, metadata }).finish();
  const code = CODES[error.kind];
  const trailer = new Metadata();
  const details = [{ typeUrl: ERROR_INFO, value: Buffer.from(info) }];
  trailer.set(DETAILS, Buffer.from(Status.encode({ code, message: error.message, details }).finish()));
  return { code, details: error.message, metadata: trailer };
}

/**
 * The error behind a failed call. Only errors of our own services keep their text. Text of the transport goes into `cause`, and a status
 * that our services don't send becomes `internal`. A call that the target lacks, or isn't for this program, becomes `unavailable`.
 */
export function decodeError(failure: StatusObject & { message?: string }, target: string): ServiceError {
  const kind = KINDS.get(failure.code) ?? 'internal';
  const info = readInfo(failure.metadata);
  if (failure.code === status.UNIMPLEMENTED || info?.reason === REASONS.peerNotAdmitted)
    return new ServiceError('unavailable', `The ${target} service doesn't offer this call.`, {
      reason: REASONS.notOffered,
      retryAfterSeconds: 1,
      cause: failure,
    });
  if (info) {
    const retry = info.metadata['retry_after_seconds'];
    return new ServiceError(kind, failure.details, {
      reason: info.reason,
      ...(info.metadata['field'] !== undefined && { field: info.metadata['field'] }),
      ...(retry !== undefined && { retryAfterSeconds: Number(retry) }),
    });
  }
  switch (kind) {
    case 'unavailable':
    case 'deadline_exceeded':
    case 'resource_exhausted': {
      const late = kind === 'deadline_exceeded';
      const message = late ? `The ${target} service took too long to answer.` : `The ${target} service is not available.`;
      return new ServiceError(late ? kind : 'unavailable', message, { retryAfterSeconds: 1, cause: failure });
    }
    default:
      return new ServiceError('internal', 'An unexpected error occurred.', { cause: failure });
  }
}

function readInfo(metadata: Metadata | undefined): ErrorInfo | undefined {
  const [bytes] = metadata?.get(DETAILS) ?? [];
  if (!(bytes instanceof Buffer)) return undefined;
  const detail = Status.decode(bytes).details.find(({ typeUrl }) => typeUrl === ERROR_INFO);
  const info = detail && ErrorInfo.decode(detail.value);
  return info?.domain === DOMAIN ? info : undefined;
}
