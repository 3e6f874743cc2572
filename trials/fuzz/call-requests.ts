/** Generates requests of `PUT`, `PATCH` and `DELETE /v1/calls/{call_id}`. */
import fc from 'fast-check';
import { SCARCE_DELETIONS, type RecordKey } from './record-keys.ts';
import { callProperties, IDS, isHeld, leavesProject, NO_OBJECTS } from './record-lines.ts';
import { firstParts, headers, mediaTypes, NOT_FOUND, refusal, type Head, type RecordRequest } from './record-parts.ts';
import { bad, good, mostly, open, outcomes, type Part } from './request.ts';

const noQueries = mostly<Part<string>>(
  19,
  fc.constantFrom('', '?').map((value) => good(value)),
  fc.constantFrom('?check=true', '?x', '?id=kept_0').map((value) => bad(value, refusal(400))),
);

/** Ids that no call can have, encoded for a path. */
const MALFORMED = [
  '%00',
  'a%20b',
  '%FF',
  '%',
  'a%2Fb',
  'x'.repeat(129),
  'kept_0%0A',
  '%C3%A9',
  ';a=1',
  'kept_0,kept_1',
  '%E2%80%AE',
];

/** What the id of a call means for each method: the outcome if nothing else is wrong. */
function ids(known: { kept: string[]; changing: string[] }, malformed: string, withAbsent: boolean) {
  const usual = fc.oneof(
    { arbitrary: fc.constantFrom(...IDS.kept).map((id) => ({ id, fault: undefined, success: known.kept })), weight: 4 },
    { arbitrary: fc.constantFrom(...IDS.changing).map((id) => ({ id, fault: undefined, success: known.changing })), weight: 4 },
    { arbitrary: fc.constantFrom(...IDS.held).map((id) => ({ id, fault: undefined, success: known.changing })), weight: 2 },
    ...(withAbsent ? [fc.constantFrom(...IDS.absent, 'only_north', 'only_south').map((id) => ({ id, fault: NOT_FOUND, success: [] as string[] }))] : []),
  ); // prettier-ignore
  return mostly(
    9,
    usual,
    fc.constantFrom(...MALFORMED).map((id) => ({ id, fault: malformed, success: [] as string[] })),
  );
}

/** An id that only the other organization has. */
function isForeign(id: string, { organization }: RecordKey): boolean {
  return id.startsWith('only_') && id !== `only_${organization}`;
}

/** A body of one call; a fault is the outcome. */
interface Body extends Part<string | Buffer> {
  /** What finds the fault: the form of the properties, or a look-up of what they name. Absent: the gateway, which doesn't know the properties. */
  by?: 'form' | 'look-up';
  properties?: Record<string, unknown>;
}

const callBodies = mostly<Body>(
  4,
  callProperties.map(({ value, fault, isLookUp }): Body => ({
    value: JSON.stringify(value),
    properties: value,
    ...(fault !== undefined && { fault: refusal(400), by: isLookUp ? 'look-up' : 'form' }),
  })),
  fc.constantFrom('', ' ', ...NO_OBJECTS).map((value) => bad<string | Buffer>(value, refusal(400))),
  fc
    .constantFrom(
      ['type', 'call'],
      ['organization', 'south'],
      ['id', 'kept_0'],
      ['deleted', true],
      ['merge', false],
      ['deleted', null],
    )
    .map(([name, value]) => bad<string | Buffer>(JSON.stringify({ [name as string]: value }), refusal(400))),
  fc.constant(bad<string | Buffer>('{"summary":1,"\\u0069d":"kept_1","summary":"x"}', refusal(400))),
  fc.constant(good<string | Buffer>('{"summary":1,"summary":"x"}')),
);

function oneCall(api: string, head: Head, method: 'PUT' | 'PATCH', chosen: ReturnType<typeof ids>): fc.Arbitrary<RecordRequest> {
  return fc
    .tuple(chosen, noQueries, mediaTypes('application/json'), callBodies)
    .map(([{ id, fault, success }, query, type, body]) => {
      const isUnknown = fault !== undefined && (!id.startsWith('only_') || isForeign(id, head.credential));
      const parts = [...firstParts(head, ['ingest']), type, head.encoding, query];
      // The calls service never gets an id that no call can have, and looks things up only for a call that is stored.
      const isLate = method === 'PATCH' && (body.by === 'look-up' || (body.by === 'form' && MALFORMED.includes(id)));
      if (!isLate) parts.push(body);
      if (isUnknown) parts.push(bad(null, fault));
      const isKept = isHeld(id, head.credential.organization);
      const isNotFound = (outcome: string) => outcome === NOT_FOUND && !isKept;
      const isStored = (outcome: string) => outcome.startsWith('200');
      if (isLate) parts.push(open(null, ...success.filter(isNotFound)), body);
      if (isKept && leavesProject(body.properties ?? {}, method === 'PATCH')) parts.push(bad(null, refusal(409)));
      return {
        route: `${method} /v1/calls/{call_id}`,
        method,
        target: `/v1/calls/${id}${query.value}`,
        headers: headers(api, head, type.value),
        body: body.value,
        credential: head.credential,
        expected: outcomes(
          parts,
          id.startsWith('only_') ? ['200 merged', '200 unchanged'] : isKept ? success.filter(isStored) : success,
        ),
      };
    });
}

export function puts(api: string, head: Head): fc.Arbitrary<RecordRequest> {
  const replaced = ['200 replaced', '200 unchanged'];
  return oneCall(api, head, 'PUT', ids({ kept: replaced, changing: ['201 created', ...replaced] }, refusal(400), false));
}

export function patches(api: string, head: Head): fc.Arbitrary<RecordRequest> {
  const merged = ['200 merged', '200 unchanged'];
  return oneCall(api, head, 'PATCH', ids({ kept: merged, changing: [...merged, NOT_FOUND] }, NOT_FOUND, true));
}

export function deletions(api: string, head: Head): fc.Arbitrary<RecordRequest> {
  const paths = fc.constantFrom(
    ...IDS.changing,
    ...IDS.absent,
    ...IDS.held,
    `only_${head.credential.organization === 'north' ? 'south' : 'north'}`,
    ...MALFORMED,
  );
  return fc.tuple(paths, noQueries).map(([id, query]) => {
    const parts = [...firstParts(head, ['delete']), query];
    const isMalformed = MALFORMED.includes(id);
    if (head.credential.organization === SCARCE_DELETIONS.organization && !isMalformed)
      parts.push(open(null, '429 rate_limited'));
    if (isHeld(id, head.credential.organization)) parts.push(bad(null, refusal(409)));
    else if (![...IDS.changing, ...IDS.held].includes(id)) parts.push(bad(null, NOT_FOUND));
    return {
      route: 'DELETE /v1/calls/{call_id}',
      method: 'DELETE',
      target: `/v1/calls/${id}${query.value}`,
      headers: headers(api, { ...head, encoding: good(undefined) }, undefined),
      credential: head.credential,
      expected: outcomes(parts, ['204', NOT_FOUND]),
    };
  });
}
