import { isIP } from 'node:net';
import { invalid } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import type { RecordRefusalRequest, RecordRefusalResponse } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';

/** The trail takes no free text from a caller that nobody knows. */
const NAME = /^[a-z][a-z_.-]{0,59}$/;

export function recordRefusal({ operators }: Context) {
  return rpc({ anyone: true }, async (request: RecordRefusalRequest, { token }): Promise<RecordRefusalResponse> => {
    const { action, outcome, address } = request;
    if (!NAME.test(action)) throw invalid('action', 'must be 1 to 60 of a-z, _, . and -');
    if (!NAME.test(outcome)) throw invalid('outcome', 'must be 1 to 60 of a-z, _, . and -');
    if (address !== '' && isIP(address) === 0) throw invalid('address', 'must be an IP address');
    await operators.refused({ action, outcome, token, address });
    return {};
  });
}
