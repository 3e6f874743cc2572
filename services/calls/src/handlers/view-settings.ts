import { REASONS, ServiceError, unavailable } from '@crs/kit/errors';
import type { CallOptions, ServiceClient } from '@crs/kit/rpc/client';
import type { OrganizationIdentity } from '@crs/kit/rpc/identity';
import type { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import type { ViewSettings } from '../domain/change-cursor.ts';

/** The settings that decide how the caller sees calls, as they are now. The caller's token may be a second old. */
export async function currentSettings(
  auth: ServiceClient<AuthServiceService>,
  identity: OrganizationIdentity,
  call: CallOptions,
): Promise<ViewSettings> {
  try {
    const { changedAt, ...settings } = await auth.getViewSettings({}, call);
    return { ...settings, changedAt: changedAt! };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.reason !== REASONS.notOffered) throw error;
    // Auth of the previous version writes them into the token alone.
    const { allowedFields, anonymize, settingsVersion: version, settingsChangedAt } = identity;
    if (version === undefined || settingsChangedAt === undefined) throw unavailable('The service is being upgraded.');
    return { allowedFields, anonymize, version, changedAt: new Date(settingsChangedAt) };
  }
}
