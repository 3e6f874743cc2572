import { bind } from '@crs/kit/rpc/server';
import { ErasureServiceService } from '@crs/proto/crs/erasures/v1/erasures';
import { WebhooksAdminServiceService } from '@crs/proto/crs/webhooks/v1/admin';
import type { Context } from '../context.ts';
import { erase } from './erase.ts';
import { webhooks } from './webhooks.ts';

/** For operators. */
export function adminServices(context: Context) {
  return [
    bind(WebhooksAdminServiceService, ['crs'], webhooks(context)),
    bind(ErasureServiceService, ['crs'], { erase: erase(context) }),
  ];
}
