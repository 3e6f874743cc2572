import type { Query } from '@crs/kit/data/database';
import { FIRST_TEXT, FIRST_UUID, inOrder, once } from '@crs/records/erase-steps';
import { eraseRpc } from '@crs/records/erasure';
import { lockImports } from '@crs/records/lock-imports';
import type { RecordContext } from '@crs/records/record-service';
import { eraseBillingOffices } from '../store/billing-offices.ts';
import { eraseCreations, forgetPerson } from '../store/creations.ts';
import { eraseProject, eraseProjects } from '../store/projects.ts';

export function erase(context: RecordContext) {
  return eraseRpc('projects', context, (target, scope) => {
    const { organization } = scope;
    const locked = <T>(work: (query: Query) => Promise<T>) =>
      context.importDb.transact(scope, async (query) => {
        await query(lockImports('projects', organization));
        return work(query);
      });
    const all = (first: string, next: typeof eraseProjects) =>
      inOrder(
        first,
        (from) => next(organization, from),
        (statement) => locked((query) => query(statement)),
      );
    switch (target?.$case) {
      case 'organization':
        return [
          all(FIRST_TEXT, eraseCreations),
          all(FIRST_UUID, eraseProjects),
          once(() => locked((query) => query(eraseBillingOffices(organization)))),
        ];
      case 'projectId':
        return [once(() => locked((query) => eraseProject(query, organization, target.value)))];
      // Auth erases a user's roles. Here, the stored answers to creations name users.
      case 'userId':
        return [once(() => locked((query) => query(forgetPerson(organization, target.value))))];
      case undefined:
        return [];
    }
  });
}
