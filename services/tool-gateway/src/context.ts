import type { CallOptions, ServiceClient } from '@crs/kit/rpc/client';
import type { Encrypter } from '@crs/kit/data/encrypter';
import type { CallsServiceService } from '@crs/proto/crs/calls/v1/calls';
import type { EntitiesServiceService } from '@crs/proto/crs/entities/v1/entities';
import type { ProjectsServiceService } from '@crs/proto/crs/projects/v1/projects';

export interface Context {
  calls: ServiceClient<CallsServiceService>;
  projects: ServiceClient<ProjectsServiceService>;
  entities: ServiceClient<EntitiesServiceService>;
  cursors: Encrypter;
}

/** The user on whose behalf a tool runs, and the options of its calls to services. */
export interface ToolCall extends CallOptions {
  organization: string;
  userId: string;
  /** Yields the event loop if this request has held it for long. Call it between steps of work on a response, which has up to 8 MiB. */
  yieldWhenDue: () => Promise<void>;
}
