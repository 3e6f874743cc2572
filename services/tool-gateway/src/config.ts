import { GATEWAY_SETTINGS } from '@crs/kit/http/gateway';
import { commaSeparated, hostPort, milliseconds, origin, secrets, settings } from '@crs/kit/process/config';
import { ruleSetting } from '@crs/kit/limits/rule';

export const readConfig = settings({
  ...GATEWAY_SETTINGS,
  listen: ['CRS_LISTEN', hostPort.default('0.0.0.0:8081')],
  publicUrl: ['CRS_TOOLS_URL', origin],
  /** Auth's HTTP listener, which gets forwarded sign-in requests. Absent: sign-in is disabled. */
  authHttpAddress: ['CRS_AUTH_HTTP_ADDRESS', hostPort.optional()],
  entitiesAddress: ['CRS_ENTITIES_ADDRESS', hostPort],
  /** For sign-in, per client address. */
  signInLimit: ['CRS_SIGN_IN_RATE_LIMIT', ruleSetting.prefault('600/60')],
  timeoutMs: ['CRS_TOOL_TIMEOUT_MS', milliseconds.default(15_000)],
  /** Encrypt cursors; the same on every replica. */
  secrets: ['CRS_SECRET', secrets],
  /** Origins, besides our own, whose pages may call the tools. */
  allowedOrigins: ['CRS_ALLOWED_ORIGINS', commaSeparated(origin).default([])],
});

export type ToolGatewayConfig = ReturnType<typeof readConfig> & {
  /** Allows every loopback host and origin, for `npm start` and tests. */
  loopback?: boolean;
};
