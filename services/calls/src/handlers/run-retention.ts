import { callerScope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import { meter } from '@crs/kit/process/telemetry';
import { rpc } from '@crs/kit/rpc/server';
import { CALL_ID } from '@crs/kit/text';
import type { GetRetentionResponse } from '@crs/proto/crs/auth/v1/auth';
import type { RunRetentionRequest, RunRetentionResponse } from '@crs/proto/crs/calls/v1/admin';
import { countDeleted } from '@crs/records/count-deleted';
import type { RecordContext } from '@crs/records/record-service';
import { retainCalls, type RetentionSettings, type RetentionStep } from '../store/retain-calls.ts';

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
    const readSettings = async () => settingsOf(await auth.getRetention({}, call));
    const { retainCalls: period, retainBy } = await readSettings();
    await auth.recordAudit({ action: 'retention.run', target: `${period} ${retainBy}`, address, counted: true }, call);
    const audit: RetentionStep['audit'] = (calls, cutoff) => {
      const target = `${calls} calls before ${cutoff.toISOString()}`;
      return auth.recordAudit({ action: 'retention.delete', target, address, counted: false }, call);
    };
    const scope = callerScope(call);
    const { organization } = scope;
    const until = performance.now() + WORK_MS;
    const total = { due: 0, deleted: 0 };
    let place = parsePlace(request.after);
    do {
      const step = { organization, ...place, readSettings, audit };
      const { due, deleted, next, begunUnder } = await importDb.transact(scope, (query) => retainCalls(query, step));
      count(due, deleted);
      total.due += due;
      total.deleted += deleted;
      place = { after: next, begunUnder };
    } while (place.after !== '' && performance.now() < until);
    return { ...total, next: place.after && `${place.begunUnder?.getTime()} ${place.after}` };
  });
}

type Place = Pick<RetentionStep, 'after' | 'begunUnder'>;

/** Parses where a pass goes on. */
function parsePlace(text: string): Place {
  if (text === '') return { after: '', begunUnder: null };
  const [, begunUnder, after] = /^(\d{1,15}) (\S+)$/.exec(text) ?? [];
  if (begunUnder === undefined || after === undefined || !CALL_ID.test(after))
    throw invalid('after', 'must be the next of the response before');
  return { after, begunUnder: new Date(Number(begunUnder)) };
}

function settingsOf({ retainBy, changedAt, ...settings }: GetRetentionResponse): RetentionSettings {
  return { ...settings, retainBy: retainBy === 'created' ? 'created' : 'date', changedAt: changedAt! };
}
