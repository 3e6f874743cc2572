import { DatabaseError } from 'pg';
import { deadlineExceeded, REASONS, ServiceError, unavailable } from '../errors.ts';

/** The error's code, PostgreSQL's or the system's, for metrics. */
export function errorType(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'disconnected';
}

const BROKEN = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EHOSTUNREACH']);

/** The error of a statement that failed: of ours where callers can act on it, else as it came. */
export function translate(error: unknown): unknown {
  if (error instanceof ServiceError || !(error instanceof Error)) return error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === '57014') return deadlineExceeded(error, REASONS.slowWork);
  // Serialization, deadlock, a lock that wasn't had within lock_timeout; of Citus, rows that another shard got while the statement waited for a lock.
  const hasMoved = code === 'XX000' && error.message.startsWith('could not find valid entry for shard');
  if (hasMoved || code === '40001' || code === '40P01' || code === '55P03')
    return new ServiceError('aborted', 'Another change was made at the same time; try again.', { cause: error });
  // A server that still talks to us reports another one: of Citus, the node that holds the organization's rows.
  const isOfNode = error instanceof DatabaseError && error.severity === 'ERROR' && /^(08|57P)/.test(code);
  if (isOfNode) return unavailable('The database is not available.', error, REASONS.nodeAway);
  const lost = /^Connection terminated|^Client was closed|not queryable/.test(error.message);
  if (lost || BROKEN.has(code) || /^(08|53|57P)/.test(code)) return unavailable('The database is not available.', error);
  return error;
}
