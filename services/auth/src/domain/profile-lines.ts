/** Parses the lines that keys send. The worker thread imports this module for long ones. */
import type { LineReader } from '@crs/records/import-batch';
import { parseLine } from '@crs/records/import-record';
import { profileLine, type UserRecord } from './import-records.ts';

export const run: LineReader<UserRecord>['run'] = (json) => parseLine(profileLine, json);
export const profileReader: LineReader<UserRecord> = { url: import.meta.url, run };
