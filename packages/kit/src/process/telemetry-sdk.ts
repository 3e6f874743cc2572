import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { RuntimeNodeInstrumentation } from '@opentelemetry/instrumentation-runtime-node';
import { envDetector, hostDetector, serviceInstanceIdDetector } from '@opentelemetry/resources';
import { AggregationType, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { AlwaysOffSampler, NoopSpanProcessor } from '@opentelemetry/sdk-trace';
import type { Environment } from './config.ts';

/** Latency buckets in seconds, narrow around our objectives. */
const LATENCY_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Between two samples of the event loop's delay. At the default of 10 ms, they are most of what an idle process costs. The alert begins at 500 ms. */
const EVENT_LOOP_SAMPLE_MS = 50;

export interface Telemetry {
  /** The ops listener serves it at `/metrics`. */
  readonly prometheus: PrometheusExporter;
  stop(): Promise<void>;
}

/**
 * Starts OpenTelemetry for this process, configured by the standard `OTEL_*` settings. Spans are exported only if an OTLP endpoint or an exporter is set,
 * but trace ids always exist, because they are the request ids. Metrics are always served to Prometheus; `OTEL_METRICS_EXPORTER=otlp` also pushes them, as
 * `http/protobuf`, every `OTEL_METRIC_EXPORT_INTERVAL` milliseconds (60,000).
 */
export function startTelemetry(serviceName: string, environment: Environment): Telemetry {
  const prometheus = new PrometheusExporter({ preventServerStart: true });
  const sdk = new NodeSDK({
    serviceName: environment['OTEL_SERVICE_NAME'] ?? serviceName,
    metricReaders: sendsMetrics(environment) ? [prometheus, pushReader(environment)] : [prometheus],
    // The process detector would export the command line.
    resourceDetectors: [serviceInstanceIdDetector, hostDetector, envDetector],
    logRecordProcessors: [],
    // Metrics of the event loop, heap and garbage collection. It patches no module.
    instrumentations: [new RuntimeNodeInstrumentation({ monitoringPrecision: EVENT_LOOP_SAMPLE_MS })],
    views: [
      {
        instrumentName: '*.duration',
        aggregation: { type: AggregationType.EXPLICIT_BUCKET_HISTOGRAM, options: { boundaries: LATENCY_BUCKETS } },
      },
    ],
    ...(!sendsTraces(environment) && { spanProcessors: [new NoopSpanProcessor()], sampler: new AlwaysOffSampler() }),
  });
  sdk.start();
  return { prometheus, stop: () => sdk.shutdown() };
}

function sendsMetrics(environment: Environment): boolean {
  return (environment['OTEL_METRICS_EXPORTER'] ?? '').split(',').includes('otlp');
}

function pushReader(environment: Environment): PeriodicExportingMetricReader {
  const exportIntervalMillis = Number(environment['OTEL_METRIC_EXPORT_INTERVAL'] ?? 60_000);
  return new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter(), exportIntervalMillis });
}

function sendsTraces(environment: Environment): boolean {
  const exporter = environment['OTEL_TRACES_EXPORTER'];
  if (exporter) return exporter !== 'none';
  return Boolean(environment['OTEL_EXPORTER_OTLP_ENDPOINT'] || environment['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']);
}
