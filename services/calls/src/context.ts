import type { Database } from '@crs/kit/database';
import type { ServiceClient } from '@crs/kit/grpc-client';
import type { Logger } from '@crs/kit/log';
import type { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import type { NameSecrets } from './store/name-secrets.ts';

/** What handlers work with. */
export interface Context {
  /** For requests of callers. */
  db: Database;
  /** For imports, which COPY; few, so that they can't crowd out callers. */
  importDb: Database;
  auth: ServiceClient<AuthServiceService>;
  nameSecrets: NameSecrets;
  log: Logger;
}
