/** Generates requests of `POST /v1/records`. */
import fc from 'fast-check';
import { ORGANIZATIONS, SCARCE_DELETIONS, type RecordKey } from './record-keys.ts';
import { lines, type Line } from './record-lines.ts';
import { firstParts, headers, mediaTypes, refusal, type ExpectedLine, type Head, type RecordRequest } from './record-parts.ts';
import { bad, good, mostly, open, outcomes, type Part } from './request.ts';

/** A query, and what it asks for. */
interface Query extends Part<string> {
  abort?: boolean;
  check?: boolean;
}

const BAD_QUERIES = [
  '?',
  'on_refusal=',
  'on_refusal=store',
  'check=1',
  'check=true&check=true',
  'check=TRUE',
  'abort=true',
  '__proto__=x',
  '%00=1',
  'check=%00',
  '=x',
];
const queries = mostly<Query>(
  9,
  fc.constantFrom<Query>(
    good(''),
    good('?check=false'),
    { ...good('?on_refusal=abort'), abort: true },
    { ...good('?check=true'), check: true },
    { ...good('?check=true&on_refusal=abort'), check: true, abort: true },
  ),
  fc
    .constantFrom(...BAD_QUERIES)
    .filter((query) => query !== '?')
    .map((query) => bad(`?${query}`, refusal(400))),
);
export function posts(api: string, head: Head): fc.Arbitrary<RecordRequest> {
  const { organization = 'nobody', rights = [] } = head.credential;
  const other = ORGANIZATIONS.find((each) => each !== organization)!;
  return queries.chain((query) => {
    // Of an aborted batch nothing may be stored, so its lines must not be those of other requests unless one is certainly refused.
    const bodies = fc.tuple(
      fc.array(mostly(4, lines(organization, other, query.check !== true).map((line): Line | null => line), fc.constant(null)), { maxLength: 12 }),
      fc.record({
        end: fc.constantFrom('\n', '\r\n'),
        blank: fc.constantFrom('', ' \t'),
        start: fc.constantFrom('', '', '\ufeff'),
        isEnded: fc.boolean(),
        many: mostly(29, fc.constant(0), fc.constant(1_001)),
      }),
    ); // prettier-ignore
    return fc.tuple(bodies, mediaTypes('application/x-ndjson')).map(([[drawn, form], type]): RecordRequest => {
      const all = form.many > 0 ? Array<Line>(form.many).fill(bad('{}', 'type')) : drawn;
      const body = Buffer.concat([
        Buffer.from(form.start),
        ...all.flatMap((line, i) => [
          Buffer.from((line?.value ?? form.blank) as string),
          Buffer.from(i < all.length - 1 || form.isEnded ? form.end : ''),
        ]),
      ]);
      const given = all.flatMap((line, i) => (line ? [{ ...limitToRights(line, rights), number: i + 1 }] : []));
      return {
        route: 'POST /v1/records',
        method: 'POST',
        target: `/v1/records${query.value}`,
        headers: headers(api, head, type.value),
        body,
        credential: head.credential,
        expected: outcomes(
          [...firstParts(head, ['ingest', 'delete']), type, head.encoding, query, ...bodyParts(given, query, head.credential)],
          ['200'],
        ),
        lines: given,
        lineCount: countLines(all, form),
      };
    });
  });
}

/** An empty last line without an end isn't a line. */
function countLines(all: (Line | null)[], { blank, isEnded }: { blank: string; isEnded: boolean }): number {
  return all.at(-1) === null && blank === '' && !isEnded ? all.length - 1 : all.length;
}

/** A line needs a right of the key, which is checked before what the line refers to. */
function limitToRights(line: Line, rights: string[]): Line {
  if (rights.includes(line.deletes ? 'delete' : 'ingest')) return line;
  const { maybe: _, fault, ...rest } = line;
  return { ...rest, fault: fault !== undefined ? '?' : line.deletes ? 'deleted' : '' };
}

function bodyParts(
  given: (Line & ExpectedLine)[],
  { abort, check }: Query,
  { organization, rights = [] }: RecordKey,
): Part<unknown>[] {
  if (given.length === 0 || given.length > 1_000) return [bad(null, refusal(400))];
  const parts: Part<unknown>[] = [];
  if (abort && new Set(given.flatMap(({ type }) => type ?? [])).size > 1) parts.push(bad(null, refusal(400)));
  const deletions = given.filter(({ deletes }) => deletes).length;
  if (organization === SCARCE_DELETIONS.organization && rights.includes('delete')) {
    if (deletions > SCARCE_DELETIONS.limit) parts.push(bad(null, refusal(400)));
    else if (deletions > 0 && !check) parts.push(open(null, '429 rate_limited'));
  }
  if (abort) {
    if (given.some(({ fault }) => fault !== undefined)) parts.push(bad(null, refusal(400)));
    else if (given.some(({ maybe }) => maybe)) parts.push(open(null, refusal(400)));
  }
  return parts;
}
