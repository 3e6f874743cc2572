import { trace } from '@opentelemetry/api';
import { pino, type DestinationStream, type Logger } from 'pino';

export type { Logger } from 'pino';

/** The levels as Google Cloud Logging and others name them. Without the field, they take every line on standard error for an error. */
const SEVERITIES: Record<string, string> = {
  trace: 'DEBUG',
  debug: 'DEBUG',
  info: 'INFO',
  warn: 'WARNING',
  error: 'ERROR',
  fatal: 'CRITICAL',
};

/**
 * Structured logs: one JSON object per line on standard error, with the trace id of the active span. Never log content: secrets, record fields, SQL
 * parameters or query strings.
 */
export function createLogger(name: string, options: { level?: string; destination?: DestinationStream } = {}): Logger {
  return pino(
    {
      level: options.level ?? 'info',
      base: { service: name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label, severity: SEVERITIES[label] }) },
      serializers: { err: describeError },
      mixin: () => {
        const context = trace.getActiveSpan()?.spanContext();
        return context ? { trace_id: context.traceId, span_id: context.spanId } : {};
      },
    },
    options.destination ?? standardError(),
  );
}

/** How long lines are buffered: one write per line would take a tenth of a gateway's CPU time. */
const FLUSH_MS = 10;
/** Characters that are written without waiting. */
const FLUSH_LENGTH = 8_192;

/** Standard error, buffered. Pino flushes it at exit. */
function standardError(): DestinationStream {
  const destination = pino.destination({ fd: 2, sync: false, minLength: FLUSH_LENGTH });
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    timer = undefined;
    destination.flush();
  };
  return {
    write: (line) => {
      destination.write(line);
      timer ??= setTimeout(flush, FLUSH_MS).unref();
    },
  };
}

/**
 * Serializes an error for the log: type, code, message and stack, and those of its causes. Other properties are omitted, because a driver's error carries
 * row values in some of them. A database's message and stack are omitted as well, because they may quote input.
 */
export function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { type: typeof error };
  const code = 'code' in error ? String(error.code) : undefined;
  const fromDatabase = 'severity' in error;
  return {
    type: error.constructor.name,
    ...(code !== undefined && { code }),
    message: fromDatabase ? 'refused by the database' : error.message,
    stack: fromDatabase ? undefined : error.stack,
    ...(error.cause !== undefined && { cause: describeError(error.cause) }),
  };
}
