import {
  metrics,
  trace,
  SpanKind,
  SpanStatusCode,
  type Attributes,
  type Context,
  type Meter,
  type Span,
  type Tracer,
} from '@opentelemetry/api';

export { SpanKind, SpanStatusCode } from '@opentelemetry/api';

/** The tracer of a part of the system. Looked up on use, so that it is right whenever telemetry starts. */
export function tracer(name: string): Tracer {
  return trace.getTracer(name);
}

export function meter(name: string): Meter {
  return metrics.getMeter(name);
}

/** Runs work in a span of its own. A failure marks the span with the error's type, never its text, which may quote input. */
export async function inSpan<T>(
  spanTracer: Tracer,
  name: string,
  options: { kind: SpanKind; attributes: Attributes },
  parent: Context,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const span = spanTracer.startSpan(name, options, parent);
  try {
    return await work(span);
  } catch (error) {
    failSpan(span, error);
    throw error;
  } finally {
    span.end();
  }
}

export function failSpan(span: Span, error: unknown): void {
  const type = error instanceof Error ? ('kind' in error ? String(error.kind) : error.constructor.name) : 'unknown';
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}
