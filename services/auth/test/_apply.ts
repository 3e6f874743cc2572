/** Applies desired states, as `crs apply` does. */
import { digestOf } from '@crs/kit/api-key';
import type { ApplyTenantResponse } from '@crs/proto/crs/auth/v1/admin';
import type { CallOptions } from '@crs/kit/rpc/client';
import type { SharedAuthWorld } from './_fixtures.ts';

export interface State {
  id: string;
  [field: string]: unknown;
}

interface Options {
  prune?: boolean;
  plan?: boolean;
  planId?: string;
  oidcClientSecret?: string;
  /** The operator; by default an admin of all organizations. */
  by?: CallOptions;
}

export const sha256 = (secret: string) => digestOf(secret).toString('hex');

export function applier(world: () => SharedAuthWorld) {
  const apply = async (state: State, { prune = false, plan = false, planId = '', oidcClientSecret, by }: Options = {}) =>
    world().operator.auth.applyTenant(
      { stateJson: Buffer.from(JSON.stringify(state)), oidcClientSecret, prune, plan, planId },
      by ?? (await world().operate(state.id)),
    );
  return {
    apply,
    /** @returns the changes, each as `+ key erp`, and its settings */
    changes: async (state: State, options?: Options) => shortened(await apply(state, options)),
    exported: async (id: string) => {
      const { stateJson } = await world().operator.auth.exportTenant({}, await world().operate(id));
      return JSON.parse(Buffer.from(stateJson).toString()) as State & Record<'keys' | 'scim_tokens' | 'group_maps', object[]>;
    },
  };
}

const SIGNS: Record<string, string> = { add: '+', change: '~', remove: '-' };

export function shortened({ changes }: ApplyTenantResponse): string[] {
  return changes.map(({ action, type, name, settings }) =>
    [SIGNS[action], type, name, ...settings.map(({ setting, from, to }) => `${setting}: ${from} -> ${to}`)].join(' '),
  );
}
