import type { ServiceClient } from '@crs/kit/grpc-client';
import type { CallsServiceService } from '@crs/proto/crs/calls/v1/calls';

/** What routes work with. */
export interface Context {
  calls: ServiceClient<CallsServiceService>;
}
