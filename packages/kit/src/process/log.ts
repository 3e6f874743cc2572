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
    // Lines that come while one is written go together, and what is left goes at the exit.
    options.destination ?? pino.destination({ fd: 2, sync: false }),
  );
}

/**
 * What a log line says of an error: type, code, message and stack of it and of its causes. Driver errors carry row values in
 * `detail`, `where` and such, so only these named parts are taken, and a database's message is left out where it may quote input.
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
