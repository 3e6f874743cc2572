import {
  metrics,
  trace,
  SpanStatusCode,
  type Meter,
  type MetricOptions,
  type ObservableResult,
  type Span,
  type Tracer,
} from '@opentelemetry/api';

export { SpanKind, SpanStatusCode } from '@opentelemetry/api';

export function tracer(name: string): Tracer {
  return trace.getTracer(name);
}

export function meter(name: string): Meter {
  return metrics.getMeter(name);
}

/** Adds a metric whose values `observe` reports when metrics are read. @returns a function that removes it */
export function observeGauge(
  meterName: string,
  name: string,
  options: MetricOptions,
  observe: (result: ObservableResult) => void,
): () => void {
  const gauge = meter(meterName).createObservableGauge(name, options);
  gauge.addCallback(observe);
  return () => gauge.removeCallback(observe);
}

/** Marks a span as failed, with the error's type only: its message may quote input. */
export function failSpan(span: Span, error: unknown): void {
  const type = error instanceof Error ? ('kind' in error ? String(error.kind) : error.constructor.name) : 'unknown';
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}
