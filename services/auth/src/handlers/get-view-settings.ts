import { callerScope } from '@crs/kit/data/scope';
import { DEFAULT_ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import { rpc } from '@crs/kit/rpc/server';
import type { GetViewSettingsResponse } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';
import { findViewSettings } from '../store/organizations.ts';
import { VIEW_SETTINGS_VALID_MS } from '../view-settings.ts';
import { invalidKey } from './authenticate-key.ts';

export function getViewSettings({ db }: Context) {
  return rpc({ organization: 'read' }, async (_request: object, call): Promise<GetViewSettingsResponse> => {
    const [row] = await db.read(callerScope(call), findViewSettings(call.identity.organization));
    if (!row) throw invalidKey();
    return {
      allowedFields: row.allowedFields ?? [...DEFAULT_ALLOWED_FIELDS],
      anonymize: row.anonymizeInterviewees,
      version: row.settingsVersion,
      changedAt: row.settingsChangedAt,
      validMs: VIEW_SETTINGS_VALID_MS,
    };
  });
}
