import type { Query } from '@crs/kit/data/database';
import { callerScope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import { meter } from '@crs/kit/process/telemetry';
import { rpc } from '@crs/kit/rpc/server';
import { CALL_ID } from '@crs/kit/text';
import type { GetRetentionResponse } from '@crs/proto/crs/auth/v1/auth';
import type { RunRetentionRequest, RunRetentionResponse } from '@crs/proto/crs/calls/v1/admin';
import { countDeleted } from '@crs/records/count-deleted';
import type { RecordContext } from '@crs/records/record-service';
import { retainCalls, type RetentionStep } from '../store/retain-calls.ts';

/** Shorter than the timeout of `crs`, and than the grace period of a process. */
const WORK_MS = 5_000;

/** Creates the handler that deletes the calls that an organization no longer keeps. Auth has the settings. */
export function runRetention({ importDb, auth }: RecordContext) {
  const access = { action: 'retention.run', roles: ['admin', 'manager'], token: 'one', bound: true } as const;
  const counter = meter('calls').createCounter('crs.retention.calls', {
    description:
      'Calls that runs of retention found older than their organizations keep calls (due), and those that they deleted.',
  });
  const count = (due: number, deleted: number) => {
    counter.add(due, { outcome: 'due' });
    counter.add(deleted, { outcome: 'deleted' });
    countDeleted('retention', deleted);
  };
  // A counter must start at zero, or `increase()` would miss the first run.
  count(0, 0);
  return rpc({ operator: access }, async (request: RunRetentionRequest, call): Promise<RunRetentionResponse> => {
    const { address } = call;
    const settings = settingsOf(await auth.getRetention({}, call));
    const version = String(settings.changedAt.getTime());
    const { begunUnder, after } = request.after === '' ? { begunUnder: version, after: '' } : parsePlace(request.after);
    const target = `${settings.retainCalls} ${settings.retainBy}`;
    await auth.recordAudit({ action: 'retention.run', target, address, counted: true }, call);
    const audit: RetentionStep['audit'] = (calls, cutoff) => {
      const deletion = `${calls} calls before ${cutoff.toISOString()}`;
      return auth.recordAudit({ action: 'retention.delete', target: deletion, address, counted: false }, call);
    };
    const scope = callerScope(call);
    const { organization } = scope;
    const until = performance.now() + WORK_MS;
    const total = { due: 0, deleted: 0, next: after };
    do {
      const step = { organization, after: total.next, isSame: begunUnder === version, settings, audit };
      const { due, deleted, next } = await importDb.transact(scope, (query: Query) => retainCalls(query, step));
      count(due, deleted);
      total.due += due;
      total.deleted += deleted;
      total.next = next;
    } while (total.next !== '' && performance.now() < until);
    return { ...total, next: total.next && `${begunUnder} ${total.next}` };
  });
}

/** Parses where a pass goes on, and the version of the settings under which it began. */
function parsePlace(text: string): { begunUnder: string; after: string } {
  const [, begunUnder, after] = /^(\d{1,16}) (\S+)$/.exec(text) ?? [];
  if (begunUnder === undefined || after === undefined || !CALL_ID.test(after))
    throw invalid('after', 'must be the next of the response before');
  return { begunUnder, after };
}

function settingsOf({ retainBy, changedAt, ...settings }: GetRetentionResponse): RetentionStep['settings'] {
  return { ...settings, retainBy: retainBy === 'created' ? 'created' : 'date', changedAt: changedAt! };
}
