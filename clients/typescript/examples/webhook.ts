// Your calls in SQLite, up to date within seconds: each message of the webhook starts a sync.
//   CRS_API_KEY=crk_... CRS_BASE_URL=https://api.example.com/v1 CRS_WEBHOOK_SECRET=whsec_... node webhook.ts calls.db 8090
// A proxy in front of it terminates TLS at port 443.
import { createServer } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { CallResearch, sqliteStore, verifyWebhook } from '@call-research/client';

const { CRS_API_KEY: key = '', CRS_BASE_URL: baseUrl = '', CRS_WEBHOOK_SECRET: secret = '' } = process.env;
const client = new CallResearch({ key, baseUrl });
const store = sqliteStore(new DatabaseSync(process.argv[2] ?? 'calls.db'));

let syncs = Promise.resolve();
/** One sync at a time. A failed one is made up for by the next. */
function sync(): void {
  syncs = syncs.then(async () => console.log(await client.sync(store))).catch(console.error);
}

createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    try {
      verifyWebhook(Buffer.concat(chunks), request.headers, secret);
    } catch {
      return void response.writeHead(400).end();
    }
    // Responds first: a message that isn't accepted within 10 seconds is sent again.
    response.writeHead(204).end();
    sync();
  });
}).listen(Number(process.argv[3] ?? 8090));
sync();
