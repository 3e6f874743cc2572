import { createLogger } from '@crs/kit/process/log';
import { parseSecrets } from '@crs/kit/process/secrets';
import type { Tls } from '@crs/kit/process/tls';
import { SECRET } from '@crs/testing/setup';
import { TOOLS_URL, type World } from '@crs/testing/world';
import type { AuthConfig } from '../src/config.ts';
import { createAuthService } from '../src/service.ts';
import { serviceUrl } from './_fixtures.ts';

/**
 * Starts another replica of auth on the database of a test environment.
 * @param log receives the lines of its log
 * @param tls absent: plaintext
 */
export async function startReplica(
  { databaseUrl }: Pick<World, 'databaseUrl'>,
  settings: Partial<AuthConfig> = {},
  log: string[] = [],
  tls?: Tls,
) {
  const service = createAuthService(
    {
      listen: '127.0.0.1:0',
      adminListen: '127.0.0.1:0',
      httpListen: '127.0.0.1:0',
      databaseUrl: serviceUrl(databaseUrl),
      maxConnections: 2,
      secrets: parseSecrets(SECRET),
      toolsUrl: TOOLS_URL,
      accessTokenSeconds: 86_400,
      ...settings,
    },
    { log: createLogger('auth', { level: 'debug', destination: { write: (line) => void log.push(line) } }), tls },
  );
  const { http, admin } = await service.start();
  return { http, admin, stop: () => service.stop() };
}
