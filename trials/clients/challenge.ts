/** Parses, with both SDKs, the challenge to a client without a token, and prints where it sends the client. */
import assert from 'node:assert/strict';
import * as newer from '@modelcontextprotocol/client';
import * as older from '@modelcontextprotocol/sdk/client/auth.js';

const { MCP_URL: url } = process.env;
assert(url, 'usage: MCP_URL=URL challenge.ts');

for (const { extractWWWAuthenticateParams: read, discoverOAuthProtectedResourceMetadata: discover } of [older, newer]) {
  const refused = await fetch(url, { method: 'POST' });
  assert.equal(refused.status, 401);
  const { resourceMetadataUrl, scope, error } = read(refused);
  assert(resourceMetadataUrl);
  assert.equal(error, undefined);
  const metadata: { resource: string; scopes_supported?: string[] } = await discover(url, { resourceMetadataUrl });
  assert.equal(metadata.resource, url);
  assert.deepEqual(metadata.scopes_supported, scope?.split(' '));
  assert.deepEqual(metadata, await discover(url), 'found without the challenge, too');
  process.stdout.write(`  ${resourceMetadataUrl.href}: ${scope}\n`);
}
