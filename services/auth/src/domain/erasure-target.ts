import { invalid } from '@crs/kit/errors';
import { parseUuid } from '@crs/kit/text';
import type { ErasureTarget } from '@crs/proto/crs/auth/v1/admin';
import { requireText } from './settings.ts';

/** What an operator deletes. The audit trail calls it by its `kind`. */
export type Target = { kind: 'organization' } | { kind: 'project'; projectId: string } | { kind: 'user'; email: string };

export function parseTarget(request: ErasureTarget | undefined): Target {
  const target = request?.target;
  switch (target?.$case) {
    case 'organization':
      return { kind: 'organization' };
    case 'projectId': {
      const projectId = parseUuid(target.value);
      if (!projectId) throw invalid('id', 'must be a UUID');
      return { kind: 'project', projectId };
    }
    case 'email':
      return { kind: 'user', email: requireText('email', target.value, 3, 254) };
    default:
      throw invalid('target', 'is required');
  }
}
