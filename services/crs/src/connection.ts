import { Fresh } from '@crs/kit/fresh';
import { client, type CallOptions, type ServiceClient } from '@crs/kit/rpc/client';
import { AuthAdminServiceService } from '@crs/proto/crs/auth/v1/admin';
import { CallsAdminServiceService } from '@crs/proto/crs/calls/v1/admin';
import { ErasureServiceService } from '@crs/proto/crs/erasures/v1/erasures';
import { ExportServiceService } from '@crs/proto/crs/exports/v1/exports';
import { ImportServiceService } from '@crs/proto/crs/imports/v1/imports';
import { PeopleServiceService } from '@crs/proto/crs/people/v1/people';
import { ProjectsAdminServiceService } from '@crs/proto/crs/projects/v1/admin';
import { WebhooksAdminServiceService } from '@crs/proto/crs/webhooks/v1/admin';
import { tlsOf, type Config, type Service } from './config.ts';
import { Failure } from './failure.ts';

export interface Connection {
  readonly config: Config;
  readonly auth: ServiceClient<AuthAdminServiceService>;
  readonly projects: ServiceClient<ProjectsAdminServiceService>;
  readonly calls: ServiceClient<CallsAdminServiceService>;
  /** Served by calls. */
  readonly people: ServiceClient<PeopleServiceService>;
  readonly importers: Record<Service, ServiceClient<ImportServiceService>>;
  readonly exporters: Record<Service, ServiceClient<ExportServiceService>>;
  /**
   * The services that store parts of organizations, users and projects, in the order in which they erase these parts: calls first, because it refuses
   * what a legal hold keeps.
   */
  readonly erasers: Record<'calls' | 'entities' | 'projects', ServiceClient<ErasureServiceService>> & {
    webhooks?: ServiceClient<ErasureServiceService>;
  };
  /** @throws Failure if the installation sends no webhooks */
  readonly webhooks: () => ServiceClient<WebhooksAdminServiceService>;
  /** Returns the operator's identity for one organization, which need not exist, or for none. Call it before every RPC, because tokens expire. */
  readonly operator: (organization?: string) => Promise<CallOptions>;
  readonly close: () => void;
}

/** Only imports, exports and deletions take longer. */
const ADMIN_TIMEOUT_MS = 10_000;
/** A test waits for the receiver, up to 10 s. */
const WEBHOOKS_TIMEOUT_MS = 20_000;
/** Longer than the 30 s of a writing transaction, so that the service reports its own timeout. */
const IMPORT_TIMEOUT_MS = 35_000;
/** A user is removed from all calls in one transaction, whereas organizations and projects are deleted in steps. */
const ERASE_TIMEOUT_MS = 600_000;
/** A token is valid for 60 s. The difference covers the calls that fetch and send it. */
const RENEW_AFTER_MS = 45_000;

/** Makes clients of the admin listeners. They connect on first use, and don't retry: a key must not be created twice. */
export function connect(config: Config): Connection {
  const options = (service: Service | 'webhooks', timeoutMs: number, address = config.addresses[service]!) => ({
    name: service,
    address,
    timeoutMs,
    retry: false,
    ...tlsOf(config, service),
  });
  const importer = (service: Service) => client(ImportServiceService, options(service, IMPORT_TIMEOUT_MS));
  const eraser = (service: Service | 'webhooks') => client(ErasureServiceService, options(service, ERASE_TIMEOUT_MS));
  const auth = client(AuthAdminServiceService, options('auth', ADMIN_TIMEOUT_MS));
  const projects = client(ProjectsAdminServiceService, options('projects', ADMIN_TIMEOUT_MS));
  // These calls wait for imports.
  const calls = client(CallsAdminServiceService, options('calls', IMPORT_TIMEOUT_MS));
  const people = client(PeopleServiceService, options('calls', IMPORT_TIMEOUT_MS));
  const importers = ofEach(importer);
  const exporters = ofEach((service) => client(ExportServiceService, options(service, IMPORT_TIMEOUT_MS)));
  const hasWebhooks = config.addresses.webhooks !== undefined;
  const webhooks = hasWebhooks ? client(WebhooksAdminServiceService, options('webhooks', WEBHOOKS_TIMEOUT_MS)) : undefined;
  const erasers = {
    calls: eraser('calls'),
    entities: eraser('entities'),
    projects: eraser('projects'),
    ...(hasWebhooks && { webhooks: eraser('webhooks') }),
  };
  const issue = async (organizationId: string) =>
    (await auth.issueOperatorToken({ credential: config.credential, organizationId })).operatorToken;
  const tokens = new Fresh<string>({ maxAgeMs: RENEW_AFTER_MS });
  return {
    config,
    auth,
    projects,
    calls,
    people,
    importers,
    exporters,
    erasers,
    webhooks: () => {
      if (webhooks) return webhooks;
      throw new Failure('not_configured', 'This installation sends no webhooks, or CRS_WEBHOOKS_ADMIN_ADDRESS is not set.');
    },
    operator: async (organization = '') => ({ token: await tokens.get(organization, () => issue(organization)) }),
    close: () => {
      for (const clients of [{ auth, projects, calls, people, ...(webhooks && { webhooks }) }, importers, exporters, erasers])
        for (const each of Object.values(clients)) each.close();
    },
  };
}

function ofEach<T>(make: (service: Service) => T): Record<Service, T> {
  return { auth: make('auth'), projects: make('projects'), calls: make('calls'), entities: make('entities') };
}
