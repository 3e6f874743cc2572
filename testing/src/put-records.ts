import { client, type CallOptions } from '@crs/kit/rpc/client';
import { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { RecordsServiceService, type PutRecordsRequest } from '@crs/proto/crs/imports/v1/imports';
import type { World } from './world.ts';

export type RecordService = 'auth' | 'projects' | 'calls' | 'entities';
type Line = object | string | Buffer;

/** Sends records to a service as the gateway does for a key with these rights. */
export async function recordSender(world: World, service: RecordService, organization: string, rights = ['ingest', 'delete']) {
  const { addresses } = world.stack;
  const shared = { timeoutMs: 30_000, retry: false };
  const auth = client(AuthServiceService, { ...shared, name: 'auth', address: addresses.auth });
  const records = client(RecordsServiceService, { ...shared, name: service, address: addresses[service] });
  const apiKey = await world.createKey(organization, { rights });
  /** @returns refusals as `line: field: reason` */
  const put = async (lines: Line[], options: Partial<Omit<PutRecordsRequest, 'lines'>> = {}, call: CallOptions = {}) => {
    // Auth accepts every caller token.
    const audience = service === 'auth' ? 'calls' : service;
    const { callerTokens } = await auth.authenticateKey({ apiKey, audiences: [audience] });
    const request = { abort: false, check: false, supposed: undefined, address: '', ...options };
    const batch = lines.map((line, i) => ({ number: i + 1, json: bytesOf(line), id: idOf(line) }));
    const { accepted, unchanged, created, errors } = await records.putRecords(
      { ...request, lines: batch },
      { token: callerTokens[audience]!, ...call },
    );
    return { accepted, unchanged, created, refused: errors.map(({ line, field, reason }) => `${line}: ${field}: ${reason}`) };
  };
  const keyId = async () => (await auth.authenticateKey({ apiKey, audiences: ['calls'] })).keyId;
  const close = () => {
    auth.close();
    records.close();
  };
  return { put, keyId, close };
}

function idOf(line: Line): string {
  return typeof line === 'object' && 'id' in line ? String(line.id) : '';
}

function bytesOf(line: Line): Buffer {
  return Buffer.isBuffer(line) ? line : Buffer.from(typeof line === 'string' ? line : JSON.stringify(line));
}
