import type { RecordContext } from '@crs/kit/record-service';
import type { NameSecrets } from './store/name-secrets.ts';

/** What handlers work with. */
export interface Context extends RecordContext {
  nameSecrets: NameSecrets;
}
