import type { Mutation } from './mutation.ts';

const QUERY = 'services/api-gateway/src/http/query.ts';
const QUERY_TEST = ['services/api-gateway/src/http/query.test.ts'];
const RENDER = 'services/calls/src/domain/stored-json/render.ts';
const RENDER_TEST = ['services/calls/src/domain/stored-json/render.test.ts'];
const PROJECTS_TEST = ['services/api-gateway/test/projects.test.ts'];

/** Responses of the REST API, what they show, and the requests that it refuses. */
export const rest: Mutation[] = [
  {
    name: 'deletions are charged as one',
    file: 'services/api-gateway/src/records/charge-deletions.ts',
    find: '    hits: deletions,\n',
    replace: '',
    tests: ['services/api-gateway/test/delete-limit.test.ts'],
  },
  {
    name: 'an organization has every slot of large bodies',
    file: 'services/api-gateway/src/service.ts',
    find: 'total: 4, perKey: 1',
    replace: 'total: 4, perKey: 4',
    tests: ['services/api-gateway/test/record-bodies.test.ts'],
  },
  {
    name: 'a check of records stores them',
    file: 'services/api-gateway/src/routes/put-records.ts',
    find: 'const storeNothing = check ||',
    replace: 'const storeNothing =',
    tests: ['services/api-gateway/test/records.test.ts'],
  },
  {
    name: 'any entity tag gets 304',
    file: 'services/api-gateway/src/http/send.ts',
    find: '.some(([given]) => given === tag)',
    replace: '.some(([given]) => given !== undefined)',
    tests: ['services/api-gateway/test/etag.test.ts'],
  },
  {
    name: 'a call shows its cost although the field is disabled',
    file: RENDER,
    find: `if (mask.has('cost')) yield parts.cost;`,
    replace: 'yield parts.cost;',
    tests: RENDER_TEST,
  },
  {
    name: 'a redacted transcript is shown before its redaction is complete',
    file: 'services/calls/src/store/details.ts',
    find: ` and c.anonymity_status = 'complete'`,
    replace: '',
    tests: ['services/calls/test/fields.test.ts'],
  },
  {
    name: 'transcripts show the name of an anonymized interviewee',
    file: 'services/calls/src/domain/stored-json/names.ts',
    find: 'return shownName(call, anonymizeWith) ?? undefined;',
    replace: 'return undefined;',
    tests: ['services/calls/src/domain/stored-json/names.test.ts'],
  },
  {
    name: "participants show an anonymized interviewee's e-mail address",
    file: 'services/calls/src/domain/stored-json/placeholders.ts',
    find: 'showsEmails && name === undefined ?',
    replace: 'showsEmails ?',
    tests: ['services/calls/src/domain/stored-json/find-name.test.ts'],
  },
  {
    name: 'an unknown query parameter is ignored',
    file: QUERY,
    find: 'if (!Object.hasOwn(schema.shape, name)) {',
    replace: 'if (schema === undefined) {',
    tests: QUERY_TEST,
  },
  {
    name: 'an unknown argument of a tool is ignored',
    file: 'packages/records/src/import-record.ts',
    find: 'return z.strictObject(shape, {',
    replace: 'return z.object(shape, {',
    tests: ['packages/records/src/import-record.test.ts'],
  },
  {
    name: 'February 30 is read as March 2',
    file: 'packages/kit/src/text.ts',
    find: 'date === undefined || !isDate(date)',
    replace: 'date === undefined',
    tests: QUERY_TEST,
  },
  {
    name: 'folding a text of many combining marks takes quadratic time',
    file: 'packages/kit/src/text.ts',
    find: `.replace(TOO_MANY_MARKS, '$&\\u034f')`,
    replace: '',
    tests: ['packages/kit/src/text.test.ts'],
  },
  {
    name: 'a body may be larger than 64 KiB',
    file: 'packages/kit/src/http/body.ts',
    find: 'MAX_BODY_BYTES = 64 * 1024;',
    replace: 'MAX_BODY_BYTES = 64 * 1024 + 1;',
    tests: PROJECTS_TEST,
  },
  {
    name: 'the error envelope has another request id than the header',
    file: 'packages/kit/src/http/refusal.ts',
    find: 'request_id: requestId',
    replace: `request_id: requestId.replace(/^./, '0')`,
    tests: ['services/api-gateway/test/request-ids.traced.test.ts'],
  },
  {
    name: 'a client chooses the request id',
    file: 'packages/kit/src/http/request.ts',
    find: 'root: !isInternal, links },\n      isInternal ? sent : ROOT_CONTEXT,',
    replace: 'links },\n      sent,',
    tests: ['services/api-gateway/test/request-ids.traced.test.ts'],
  },
  {
    name: 'the response to an unexpected error contains its message',
    file: 'packages/kit/src/errors.ts',
    find: `new ServiceError('internal', 'An unexpected error occurred.', { cause: thrown })`,
    replace: `new ServiceError('internal', String(thrown), { cause: thrown })`,
    tests: ['services/calls/test/import-batches.test.ts'],
  },
  {
    name: 'an organization without the write surface creates projects',
    file: 'services/api-gateway/src/http/key-access.ts',
    find: `if (needsWriteSurface && !writeSurface) throw new Refusal(404, 'not_found', NOT_ENABLED);`,
    replace: '',
    tests: PROJECTS_TEST,
  },
  {
    name: 'a read-only key creates projects',
    file: 'packages/kit/src/rpc/admitted-callers.ts',
    find: `if (!needed.rights.some((right) => rights.includes(right)))`,
    replace: '',
    tests: ['services/auth/test/caller-rights.test.ts'],
  },
  {
    name: 'an idempotency key is accepted with another body',
    file: 'services/projects/src/store/creations.ts',
    find: `if (!row.bodyHash.equals(bodyHash)) return { kind: 'other_body' };`,
    replace: '',
    tests: ['services/api-gateway/test/idempotency.test.ts'],
  },
  {
    name: 'a second request takes over an idempotency key whose first request is under way',
    file: 'services/projects/src/store/creations.ts',
    find: `if (row.secondsLeft > 0) return { kind: 'in_flight', secondsLeft: row.secondsLeft };`,
    replace: '',
    tests: ['services/projects/test/twins.test.ts'],
  },
];
