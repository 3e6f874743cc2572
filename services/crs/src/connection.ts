import { client, type CallOptions, type ServiceClient } from '@crs/kit/rpc/client';
import { AuthAdminServiceService } from '@crs/proto/crs/auth/v1/admin';
import { ErasureServiceService } from '@crs/proto/crs/erasures/v1/erasures';
import { ImportServiceService } from '@crs/proto/crs/imports/v1/imports';
import type { Config, Service } from './config.ts';

export interface Connection {
  readonly config: Config;
  readonly auth: ServiceClient<AuthAdminServiceService>;
  readonly importers: Record<Service, ServiceClient<ImportServiceService>>;
  /** The services that hold parts of what auth manages, in the order in which they are asked to erase theirs. */
  readonly erasers: Record<'entities' | 'calls' | 'projects', ServiceClient<ErasureServiceService>>;
  /** The operator's identity for one organization, existing or not, or for none; to be asked for before every call. */
  readonly operator: (organization?: string) => Promise<CallOptions>;
  readonly close: () => void;
}

/** Nothing but an import takes longer. */
const ADMIN_TIMEOUT_MS = 10_000;
/** More than the 30 s that a writing transaction may take, so that the service reports the timeout. */
const IMPORT_TIMEOUT_MS = 35_000;
/** An organization of millions of calls goes in one transaction. */
const ERASE_TIMEOUT_MS = 600_000;
/** A token lives 60 s; the rest is for the call that it travels with. */
const RENEW_AFTER_MS = 45_000;
/** An import may name any number of organizations; memory must not grow with them. */
const MAX_TOKENS = 1_000;

/** Clients of the admin listeners. They connect on first use, and don't retry: a key must not be created twice. */
export function connect(config: Config): Connection {
  const { addresses, tls } = config;
  const importer = (service: Service) =>
    client(ImportServiceService, { name: service, address: addresses[service], timeoutMs: IMPORT_TIMEOUT_MS, retry: false, tls });
  const auth = client(AuthAdminServiceService, {
    name: 'auth',
    address: addresses.auth,
    timeoutMs: ADMIN_TIMEOUT_MS,
    retry: false,
    tls,
  });
  const eraser = (service: Service) =>
    client(ErasureServiceService, { name: service, address: addresses[service], timeoutMs: ERASE_TIMEOUT_MS, retry: false, tls });
  const importers = {
    auth: importer('auth'),
    projects: importer('projects'),
    calls: importer('calls'),
    entities: importer('entities'),
  };
  const erasers = { entities: eraser('entities'), calls: eraser('calls'), projects: eraser('projects') };
  const issue = async (organizationId: string) =>
    (await auth.issueOperatorToken({ credential: config.credential, organizationId })).operatorToken;
  const tokens = tokenCache(issue, () => performance.now());
  return {
    config,
    auth,
    importers,
    erasers,
    operator: async (organization = '') => ({ token: await tokens(organization) }),
    close: () => {
      for (const each of [auth, ...Object.values(importers), ...Object.values(erasers)]) each.close();
    },
  };
}

/**
 * Remembers a token for each organization and renews it well before it expires. A failure is not remembered.
 * @param now milliseconds of any clock that only moves forward
 */
export function tokenCache(
  issue: (organization: string) => Promise<string>,
  now: () => number,
): (organization: string) => Promise<string> {
  const issued = new Map<string, { token: string; at: number }>();
  return async (organization) => {
    const known = issued.get(organization);
    if (known && now() - known.at < RENEW_AFTER_MS) return known.token;
    // Its life starts when it is issued, which is after this.
    const at = now();
    const token = await issue(organization);
    issued.delete(organization);
    issued.set(organization, { token, at });
    if (issued.size > MAX_TOKENS) issued.delete(issued.keys().next().value!);
    return token;
  };
}
