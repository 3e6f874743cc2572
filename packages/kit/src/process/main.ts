import { z } from 'zod';
import { hostPort, readEnvironment, type Environment } from './config.ts';
import { startHealth } from './health.ts';
import { Closer, runUntilSignal, type Service, type Surroundings } from './lifecycle.ts';
import { createLogger } from './log.ts';
import { startOps } from './ops.ts';
import { meter } from './telemetry.ts';
import { startTelemetry } from './telemetry-sdk.ts';
import { Tls } from './tls.ts';

/** What every process reads besides its service's own settings. */
const settings = z.object({
  /** Where operators find health and metrics. */
  CRS_OPS_LISTEN: hostPort,
  /** Where an orchestrator asks by gRPC. Absent: nowhere. */
  CRS_HEALTH_LISTEN: hostPort.optional(),
  /** Directory of `tls.crt`, `tls.key` and `ca.crt`. Absent: plaintext. */
  CRS_TLS_DIR: z.string().optional(),
  CRS_LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
});

/**
 * The process around a service: reads the environment, starts telemetry and the listeners of operators and of health, then the service that `create`
 * makes, and runs it until SIGTERM or SIGINT. From then on the process isn't ready; telemetry stops last. A process that can't start
 * logs why and exits with 1.
 */
export async function runMain(
  name: string,
  create: (environment: Environment, surroundings: Surroundings) => Service,
): Promise<void> {
  const environment = process.env;
  const log = createLogger(name);
  const closer = new Closer(log);
  try {
    const { CRS_OPS_LISTEN, CRS_HEALTH_LISTEN, CRS_LOG_LEVEL, CRS_TLS_DIR } = readEnvironment(settings, environment);
    log.level = CRS_LOG_LEVEL;
    const telemetry = startTelemetry(name, environment);
    closer.defer('telemetry', () => telemetry.stop());
    // After telemetry, whose instruments they take when they are made.
    const tls = CRS_TLS_DIR === undefined ? undefined : await Tls.open(CRS_TLS_DIR, log);
    closer.defer('tls', () => tls?.close());
    const service = create(environment, { log, tls });
    let state: 'starting' | 'ready' | 'stopping' = 'starting';
    meter('kit')
      .createObservableGauge('crs.ready', { description: '1 while the process should get traffic, else 0.' })
      .addCallback((result) => result.observe(state === 'ready' ? 1 : 0));
    const ops = await startOps(CRS_OPS_LISTEN, telemetry, () => state === 'ready');
    closer.defer('ops', () => ops.stop());
    const health = CRS_HEALTH_LISTEN === undefined ? undefined : await startHealth(CRS_HEALTH_LISTEN);
    closer.defer('health', () => health?.stop());
    const watched: Service = {
      start: async () => {
        const addresses = await service.start();
        if (state === 'starting') {
          state = 'ready';
          health?.setReady(true);
        }
        return { ...addresses, ops: ops.address, ...(health && { health: health.address }) };
      },
      stop: () => {
        state = 'stopping';
        health?.setReady(false);
        return service.stop();
      },
    };
    await runUntilSignal(watched, log);
  } catch (error) {
    log.fatal({ err: error }, 'the process failed');
    process.exitCode = 1;
  } finally {
    await closer.close();
    // A closed gRPC client leaves its attempt to reach a peer that is gone, and with it the process, until the kernel gives it up.
    process.exit();
  }
}
