import { createLogger } from '@crs/kit/process/log';
import { Peers } from '@crs/kit/process/peers';
import { Tls } from '@crs/kit/process/tls';
import { createAuthority, type Certificate } from '@crs/testing/certificate';
import { certificateDirectory } from '@crs/testing/program-certificates';
import { runCrs } from '@crs/testing/run-crs';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startReplica } from './_replica.ts';

const DOMAIN = 'crs-call-research.research.call-research';
const PREFIX = 'crs-call-research';
const log = createLogger('test', { level: 'silent' });
const authority = createAuthority('ours');
const [acme, globex] = [tenant('acme'), tenant('globex')];
const closing: (() => Promise<void> | void)[] = [];
let world: World;
/** A system whose auth is reached through a port-forward: by `localhost`, although its certificate has the name of its Service. */
let forwarded: World;

const directoryOf = (certificate: Certificate, trusted = authority) => {
  const { directory, remove } = certificateDirectory(certificate, trusted);
  closing.push(remove);
  return directory;
};

beforeAll(async () => {
  world = await sharedWorld();
  await world.load([acme, globex].map((id) => ({ type: 'organization', id, name: id })));
  const tls = await Tls.open(directoryOf(authority.issue(`${PREFIX}-auth`, `auth.${DOMAIN}`)), log, new Peers(DOMAIN));
  const auth = await startReplica(world, {}, [], tls);
  closing.push(
    () => tls.close(),
    () => auth.stop(),
  );
  const addresses = { ...world.stack.addresses, authAdmin: `localhost:${auth.admin.split(':')[1]}` };
  forwarded = { ...world, stack: { ...world.stack, addresses } };
});
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

/** Runs a command with the certificate of `crs`. */
const crs = (args: string[], input = '', environment = {}) =>
  runCrs(forwarded, args, input, {
    CRS_TLS_DIR: directoryOf(authority.issue(`crs.${DOMAIN}`)),
    CRS_TLS_SERVER_PREFIX: PREFIX,
    ...environment,
  });

describe('crs from a workstation', () => {
  test('manages organizations through a port-forward, by mutual TLS and with a credential of its own', async () => {
    const created = await crs(['operator', 'create', tenant('ann'), '--role', 'viewer', '--org', acme, '--json']);
    expect(created).toMatchObject({ status: 0, stderr: '' });
    // The output of the command is what another command takes.
    const listed = await crs(['--operator', '-', 'org', 'list', '--json'], created.stdout, {
      CRS_OPERATOR_CREDENTIAL: 'cro_other',
    });
    expect(listed).toMatchObject({ status: 0, stderr: '' });
    expect(
      (JSON.parse(listed.stdout) as { data: { organization_id: string }[] }).data.map((each) => each.organization_id),
    ).toEqual([acme]);
  });

  test.each([
    ['without the prefix of the names in certificates', () => ({ CRS_TLS_SERVER_PREFIX: '' })],
    ['with the prefix of another installation', () => ({ CRS_TLS_SERVER_PREFIX: 'other-call-research' })],
    ['with a certificate of another CA', () => ({ CRS_TLS_DIR: directoryOf(createAuthority('another').issue(`crs.${DOMAIN}`)) })],
  ])('reaches no server %s', async (_, environment) => {
    expect(await crs(['org', 'list'], '', environment())).toMatchObject({
      status: 1,
      stdout: '',
      stderr: /auth is not available/,
    });
  });
});
