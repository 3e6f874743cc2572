import { expect, it, vi } from 'vitest';
import { logProblems } from '@crs/testing/log-schema';
import { directoryWith, filtered, newUser } from '@crs/testing/scim';
import { sharedWorld, tenant } from '@crs/testing/world';

it('the log names organization, token and route of a request to SCIM, but neither the filter nor the body', async () => {
  const world = await sharedWorld();
  const acme = tenant('acme');
  await world.load([{ type: 'organization', id: acme }]);
  const { secret, scimToken } = await world.operator.auth.createScimToken({ label: '' }, await world.operator.operator(acme));
  const directory = directoryWith(world.stack.addresses.tools, secret);
  const before = world.log.length;
  const responses = [
    await directory('GET', filtered('Users', 'userName eq "canary-word@x.example"')),
    await directory('POST', '/Users', newUser('canary-word@x.example')),
    await directory('POST', '/Users', { ...newUser('x@x.example'), userName: 'canary-word' }),
  ];
  const lines = await vi.waitFor(() => {
    const found = responses.map(({ headers }) =>
      world.log
        .slice(before)
        .filter((line) => line.includes(String(headers['x-request-id'])) && line.includes('"msg":"request"')),
    );
    for (const each of found) expect(each).toHaveLength(2);
    return found.flat().map((line) => JSON.parse(line));
  }, 10_000);
  expect(lines.map(({ service, route, status }) => [service, route, status]).slice(0, 2)).toEqual(
    expect.arrayContaining([
      ['tool-gateway', '/scim/v2/Users', 200],
      ['auth', '/scim/v2/Users', 200],
    ]),
  );
  for (const line of lines) expect(line).toMatchObject({ organization: acme, scim_token_id: scimToken!.tokenId });
  expect(world.log.slice(before).filter((line) => line.includes('canary-word'))).toEqual([]);
  expect(logProblems(world.log.slice(before))).toEqual([]);
});
