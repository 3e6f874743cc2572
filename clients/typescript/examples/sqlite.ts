// Your calls in SQLite. Needs Node.js 22.18 or newer, and "type": "module" in package.json. Run it as often as you like:
//   CRS_API_KEY=crk_... CRS_BASE_URL=http://127.0.0.1:8080/v1 node sqlite.ts calls.db
import { DatabaseSync } from 'node:sqlite';
import { CallResearch, sqliteStore } from '@call-research/client';

const { CRS_API_KEY: key = '', CRS_BASE_URL: baseUrl = '' } = process.env;
const client = new CallResearch({ key, baseUrl });
const database = new DatabaseSync(process.argv[2] ?? 'calls.db');

const { changed, deleted } = await client.sync(sqliteStore(database));
console.log(`${changed} calls stored, ${deleted} removed`);

// The copy is an ordinary table. Each document is the JSON text that the API sent.
const types = database.prepare(`
  select document ->> 'call_type' as call_type, count(*) as calls, sum(document ->> 'duration_minutes') as minutes
  from call_research_calls group by 1 order by 1`);
console.table(types.all());
