import { digestOf } from '@crs/kit/api-key';
import { callerScope, credentialScope, directoryScope, everyOrganizationScope } from '@crs/kit/data/scope';
import { invalid, ServiceError } from '@crs/kit/errors';
import { rpc, type Rpcs } from '@crs/kit/rpc/server';
import type { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { ORGANIZATION_ID } from '@crs/kit/text';
import type { Context } from '../context.ts';
import { noSuchOrganization } from '../domain/not-found.ts';
import { requireText } from '../domain/settings.ts';
import { auditEntry } from '../store/audit.ts';
import { listSettingsVersions, organizationExists } from '../store/organizations.ts';
import { findProgram } from '../store/programs.ts';

/** Longer than a transaction that changes settings. */
const RECENT_MS = 90_000;
const PROGRAM_ACTION = 'webhook.disable';

/** For programs that work by themselves. */
export function programs({ db, signer }: Context) {
  return {
    authenticateProgram: rpc({ anyone: true }, async ({ credential, organizationId, audiences }, call) => {
      const [program] = await db.read(directoryScope(call), findProgram(digestOf(credential)));
      if (!program) throw new ServiceError('unauthenticated', 'The credential of the program is unknown.');
      const identity = { kind: 'program', program: program.name } as const;
      const sign = (named: { organization?: string }) => signer.signForServices({ ...identity, ...named }, audiences);
      if (organizationId === undefined)
        return { callerTokens: await sign({}), organizationCreatedAt: undefined, suspended: false };
      if (!ORGANIZATION_ID.test(organizationId)) throw noSuchOrganization();
      const [found] = await db.read(credentialScope(organizationId, call), organizationExists(organizationId));
      if (!found) throw noSuchOrganization();
      const { createdAt, isSuspended } = found;
      const callerTokens = isSuspended ? {} : await sign({ organization: organizationId });
      return { callerTokens, organizationCreatedAt: createdAt, suspended: isSuspended };
    }),

    listSettingsVersions: rpc({ program: { name: 'webhooks', token: 'none' } }, async ({ all }, call) => {
      const since = new Date(all ? 0 : Date.now() - RECENT_MS);
      const versions = await db.read(everyOrganizationScope(call), listSettingsVersions(since));
      return { versions: versions.map(({ organization, version }) => ({ organizationId: organization, version })) };
    }),

    recordProgramAction: rpc({ program: { name: 'webhooks', token: 'one' } }, async ({ action, target }, call) => {
      if (action !== PROGRAM_ACTION) throw invalid('action', `must be ${PROGRAM_ACTION}`);
      const scope = callerScope(call);
      const entry = auditEntry(scope.organization, call.identity.program, action, requireText('target', target, 0, 500));
      await db.run(scope, entry);
      return {};
    }),
  } satisfies Partial<Rpcs<AuthServiceService>>;
}
