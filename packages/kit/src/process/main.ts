import { z } from 'zod';
import { commaSeparated, dnsName, hostPort, settings, trustedCertificateFiles, type Environment } from './config.ts';
import { startHealth } from './health.ts';
import { Shutdown, runUntilSignal, type Service, type Runtime } from './lifecycle.ts';
import { createLogger } from './log.ts';
import { trimMemory } from './memory.ts';
import { startOps } from './ops.ts';
import { Peers } from './peers.ts';
import { connectAll } from '../rpc/channel.ts';
import { observeGauge } from './telemetry.ts';
import { startTelemetry } from './telemetry-sdk.ts';
import { Tls } from './tls.ts';
import { TrustedCertificates } from './trusted-certificates.ts';

/** Settings of every process, besides those of its service. */
const readConfig = settings({
  /** Listener for `/livez`, `/readyz` and `/metrics`. */
  opsListen: ['CRS_OPS_LISTEN', hostPort],
  /** Listener for gRPC health checks. Absent: none. */
  healthListen: ['CRS_HEALTH_LISTEN', hostPort.optional()],
  /** Directory of `tls.crt`, `tls.key` and `ca.crt`. Absent: plaintext. */
  tlsDir: ['CRS_TLS_DIR', z.string().optional()],
  /** The suffix of the programs' names in certificates, by which listeners admit them; with `CRS_TLS_DIR` only. */
  peerDomain: ['CRS_TLS_PEER_DOMAIN', dnsName.optional()],
  /** DNS names of other clients, which may make every call here. */
  furtherPeers: [
    'CRS_TLS_FURTHER_PEERS',
    commaSeparated(z.string().min(1, 'must be names with commas between them')).default([]),
  ],
  trustedCertificates: ['CRS_TRUSTED_CERTIFICATES', trustedCertificateFiles],
  logLevel: ['CRS_LOG_LEVEL', z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info')],
});

/** After this time the process is ready even without connections to other services: being unready would not restore them. */
const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Runs a service as a process, until SIGTERM or SIGINT: reads the environment, and starts telemetry, the ops and health listeners, and the service. The
 * process is ready once the service has started and is connected to the services that it calls. A process that can't start logs the reason and exits
 * with 1.
 */
export async function runMain(name: string, create: (environment: Environment, runtime: Runtime) => Service): Promise<void> {
  const environment = process.env;
  const log = createLogger(name);
  const shutdown = new Shutdown(log);
  try {
    const { opsListen, healthListen, logLevel, tlsDir, peerDomain, furtherPeers, trustedCertificates } = readConfig(environment);
    log.level = logLevel;
    const telemetry = startTelemetry(name, environment);
    shutdown.defer('telemetry', () => telemetry.stop());
    // After telemetry, because the TLS files and the service register metrics when they are created.
    if ((tlsDir === undefined) !== (peerDomain === undefined))
      throw new Error(
        'CRS_TLS_DIR and CRS_TLS_PEER_DOMAIN: set both or neither, because certificates name the clients to admit.',
      );
    const tls =
      tlsDir === undefined || peerDomain === undefined
        ? undefined
        : await Tls.open(tlsDir, log, new Peers(peerDomain, furtherPeers));
    shutdown.defer('tls', () => tls?.close());
    const trusted = trustedCertificates.length === 0 ? undefined : await TrustedCertificates.open(trustedCertificates, log);
    shutdown.defer('trusted certificates', () => trusted?.close());
    const service = create(environment, { log, tls });
    let state: 'starting' | 'ready' | 'stopping' = 'starting';
    const description = '1 while the process should get traffic, else 0.';
    observeGauge('kit', 'crs.ready', { description }, (result) => result.observe(state === 'ready' ? 1 : 0));
    const ops = await startOps(opsListen, telemetry, () => state === 'ready');
    shutdown.defer('ops', () => ops.stop());
    const health = healthListen === undefined ? undefined : await startHealth(healthListen, service.dependencies);
    shutdown.defer('health', () => health?.stop());
    const watched: Service = {
      start: async () => {
        const addresses = await service.start();
        const away = await connectAll(CONNECT_TIMEOUT_MS);
        if (away.length > 0) log.warn({ away }, 'some services are not connected yet');
        trimMemory();
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
    await shutdown.run();
    // A closed gRPC client may still be connecting to a host that is down, which would keep the process alive until the kernel gives up.
    process.exit();
  }
}
