import { trace } from '@opentelemetry/api';
import { pino, type DestinationStream, type Logger } from 'pino';

export type { Logger } from 'pino';

/**
 * Structured logs: one JSON object a line on standard error, with the trace id where there is one. Callers log facts about work,
 * never content: no secrets, no record fields, no SQL parameters, no query strings.
 */
export function createLogger(name: string, options: { level?: string; destination?: DestinationStream } = {}): Logger {
  return pino(
    {
      level: options.level ?? 'info',
      base: { service: name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
      mixin: () => {
        const context = trace.getActiveSpan()?.spanContext();
        return context ? { trace_id: context.traceId, span_id: context.spanId } : {};
      },
    },
    options.destination ?? standardError(),
  );
}

/** How long a line waits for others: a write for each would take a tenth of a gateway's time. */
const WAIT_MS = 10;
/** Characters that are written without a wait. */
const FULL = 8_192;

/** Standard error, to which lines are written together. Pino writes the rest at the exit. */
function standardError(): DestinationStream {
  const destination = pino.destination({ fd: 2, sync: false, minLength: FULL });
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    timer = undefined;
    destination.flush();
  };
  return {
    write: (line) => {
      destination.write(line);
      timer ??= setTimeout(flush, WAIT_MS).unref();
    },
  };
}

/**
 * An error as a log line shows it: type, code, message and stack, and the same of its causes. Other properties are left out, because a driver's error
 * carries row values in some of them. A database's message and stack are left out, too, because they may quote input.
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
