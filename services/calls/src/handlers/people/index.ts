import type { RecordContext } from '@crs/records/record-service';
import { erasePerson } from './erase.ts';
import { findPerson } from './find.ts';
import { ledger } from './ledger.ts';

/** Finds and erases people in calls, for operators. */
export function people(context: RecordContext) {
  return { findPerson: findPerson(context), erasePerson: erasePerson(context), ...ledger(context) };
}
