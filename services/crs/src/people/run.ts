import { randomUUID } from 'node:crypto';
import type { ErasePersonResponse, FoundCall, Person, Progress } from '@crs/proto/crs/people/v1/people';
import type { Connection } from '../connection.ts';
import { retrying } from '../retry.ts';

/** Shows how far a search or an erasure has come. */
type Advance = (progress: Progress) => void;

/** Finds the calls of an organization that have a person. */
export async function* findPerson(
  { people, operator }: Connection,
  organization: string,
  person: Person,
  advance: Advance,
): AsyncGenerator<FoundCall> {
  const send = retrying(async (after: string) => people.findPerson({ person, after }, await operator(organization)));
  let after = '';
  do {
    const { calls, next, progress } = await send(after);
    if (progress) advance(progress);
    yield* calls;
    after = next;
  } while (after !== '');
}

/** Erases a person from the calls of an organization, or continues the erasure with this id. */
export async function erasePerson(
  { people, operator }: Connection,
  organization: string,
  { person, deleteCalls = false, erasureId = randomUUID() }: { person?: Person; deleteCalls?: boolean; erasureId?: string },
  advance: Advance,
): Promise<ErasePersonResponse> {
  const send = retrying(async (id: string) =>
    people.erasePerson({ erasureId: id, person, deleteCalls }, await operator(organization)),
  );
  let response = await send(erasureId);
  while (response.more) {
    if (response.progress) advance(response.progress);
    response = await send(response.erasureId);
  }
  return response;
}
