import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { RuntimeNodeInstrumentation } from '@opentelemetry/instrumentation-runtime-node';
import { envDetector, hostDetector, serviceInstanceIdDetector } from '@opentelemetry/resources';
import { AggregationType, type IMetricReader } from '@opentelemetry/sdk-metrics';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { AlwaysOffSampler, NoopSpanProcessor } from '@opentelemetry/sdk-trace';
import type { Environment } from './config.ts';

/** Buckets of latencies, in seconds: fine where our promises are. */
const LATENCY_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface Telemetry {
  /** What Prometheus scrapes; served by the ops listener. */
  readonly prometheus: PrometheusExporter;
  stop(): Promise<void>;
}

/**
 * Starts OpenTelemetry for this process. `OTEL_*` settings apply as documented by OpenTelemetry, but nothing is sent anywhere unless
 * an OTLP endpoint or an exporter is named. Trace ids exist even then: they are the request ids.
 */
export function startTelemetry(serviceName: string, environment: Environment): Telemetry {
  const prometheus = new PrometheusExporter({ preventServerStart: true });
  const traced = exporterWanted(environment, 'TRACES');
  const readers: IMetricReader[] = [prometheus];
  const sdk = new NodeSDK({
    serviceName: environment['OTEL_SERVICE_NAME'] ?? serviceName,
    metricReaders: readers,
    // The process detector would export the command line.
    resourceDetectors: [serviceInstanceIdDetector, hostDetector, envDetector],
    logRecordProcessors: [],
    // Event loop, heap and garbage collection; it patches nothing.
    instrumentations: [new RuntimeNodeInstrumentation()],
    views: [
      {
        instrumentName: '*.duration',
        aggregation: { type: AggregationType.EXPLICIT_BUCKET_HISTOGRAM, options: { boundaries: LATENCY_BUCKETS } },
      },
    ],
    ...(!traced && { spanProcessors: [new NoopSpanProcessor()], sampler: new AlwaysOffSampler() }),
  });
  sdk.start();
  return { prometheus, stop: () => sdk.shutdown() };
}

function exporterWanted(environment: Environment, signal: 'TRACES'): boolean {
  const exporter = environment[`OTEL_${signal}_EXPORTER`];
  if (exporter) return exporter !== 'none';
  return Boolean(environment['OTEL_EXPORTER_OTLP_ENDPOINT'] || environment[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`]);
}
