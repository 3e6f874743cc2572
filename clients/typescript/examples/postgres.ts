// Your calls in your own PostgreSQL. Needs Node.js 22.18 or newer, the package pg,
// and "type": "module" in package.json. Run it as often as you like:
//   CRS_API_KEY=crk_... CRS_BASE_URL=http://127.0.0.1:8080/v1 node postgres.ts postgresql://user:password@host/database
import { CallResearch, postgresStore } from '@call-research/client';
import pg from 'pg';

const { CRS_API_KEY: key = '', CRS_BASE_URL: baseUrl = '' } = process.env;
const client = new CallResearch({ key, baseUrl });
const pool = new pg.Pool({ connectionString: process.argv[2] });

const { changed, deleted } = await client.sync(postgresStore(pool));
console.log(`${changed} calls stored, ${deleted} removed`);

// The copy is an ordinary table. Each document is the JSON text that the API sent.
const { rows } = await pool.query(`
  select document ->> 'call_type' as call_type, count(*)::int as calls, sum((document ->> 'duration_minutes')::numeric)::float as minutes
  from call_research_calls group by 1 order by 1`);
console.table(rows);
await pool.end();
