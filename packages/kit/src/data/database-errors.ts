import { DatabaseError } from 'pg';
import { deadlineExceeded, REASONS, ServiceError, unavailable } from '../errors.ts';

/** The error code of PostgreSQL or the operating system, for metrics. */
export function errorType(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'disconnected';
}

const CONNECTION_ERRORS = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EHOSTUNREACH']);

/** Translates the error of a failed statement into a ServiceError if callers can act on it. Returns others unchanged. */
export function translate(error: unknown): unknown {
  if (error instanceof ServiceError || !(error instanceof Error)) return error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === '57014') return deadlineExceeded(error, REASONS.slowWork);
  // Citus: the rows moved to another shard while the statement waited for a lock.
  const hasMoved = code === 'XX000' && error.message.startsWith('could not find valid entry for shard');
  // Serialization failure, deadlock, lock_timeout.
  if (hasMoved || code === '40001' || code === '40P01' || code === '55P03')
    return new ServiceError('aborted', 'Another change was made at the same time; try again.', { cause: error });
  // The coordinator of Citus reports that the node with the organization's rows is down.
  const isNodeDown = error instanceof DatabaseError && error.severity === 'ERROR' && /^(08|57P)/.test(code);
  if (isNodeDown) return unavailable('The database is not available.', error, REASONS.nodeUnavailable);
  const lost = /^Connection terminated|^Client was closed|not queryable/.test(error.message);
  if (lost || CONNECTION_ERRORS.has(code) || /^(08|53|57P)/.test(code))
    return unavailable('The database is not available.', error);
  return error;
}
