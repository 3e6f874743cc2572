import { GATEWAY_SETTINGS } from '@crs/kit/http/gateway';
import { hostPort, milliseconds, origin, settings } from '@crs/kit/process/config';

export const readConfig = settings({
  ...GATEWAY_SETTINGS,
  listen: ['CRS_LISTEN', hostPort.default('0.0.0.0:8080')],
  publicUrl: ['CRS_API_URL', origin],
  /** The origin of the tool gateway. The docs link to it. */
  toolsUrl: ['CRS_TOOLS_URL', origin.optional()],
  entitiesAddress: ['CRS_ENTITIES_ADDRESS', hostPort],
  readTimeoutMs: ['CRS_READ_TIMEOUT_MS', milliseconds.default(5_000)],
  /** The deadline of a request that writes, except `POST /records`. */
  writeTimeoutMs: ['CRS_WRITE_TIMEOUT_MS', milliseconds.default(10_000)],
});

export type ApiGatewayConfig = Omit<ReturnType<typeof readConfig>, 'publicUrl'> & {
  /** The origin that clients use. Absent: the address that the gateway listens on. */
  publicUrl?: string | undefined;
};
