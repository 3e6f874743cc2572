import type { CallOptions, ServiceClient } from '@crs/kit/rpc/client';
import type { Seal } from '@crs/kit/data/seal';
import type { CallsServiceService } from '@crs/proto/crs/calls/v1/calls';
import type { EntitiesServiceService } from '@crs/proto/crs/entities/v1/entities';
import type { ProjectsServiceService } from '@crs/proto/crs/projects/v1/projects';

export interface Context {
  calls: ServiceClient<CallsServiceService>;
  projects: ServiceClient<ProjectsServiceService>;
  entities: ServiceClient<EntitiesServiceService>;
  cursors: Seal;
}

/** Options of a tool's calls to services, and the user that the tool works for. */
export interface ToolCall extends CallOptions {
  organization: string;
  userId: string;
  /** Called before each step of work on the answer, because a call in full has up to 8 MiB. */
  yieldWhenDue: () => Promise<void>;
}
