// The baseline server of `bench/changes.ts` and `bench/get-call.ts`: Express, which returns rows of rendered JSON, read by one query.
// Its argument is the URL of the database. Prints its port.
import type { AddressInfo } from 'node:net';
import express from 'express';
import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.argv[2], max: 8 });
const app = express();
app.get('/details', async (request, response) => {
  const { rows } = await pool.query<{ change: string }>({
    name: 'details',
    text: 'select change from bare.details where place > $1 order by place limit 50',
    values: [Number(request.query['after'])],
  });
  response.type('json').send(`{"data":[${rows.map(({ change }) => change).join(',')}],"next_cursor":"","has_more":true}`);
});
app.get('/details/:place', async (request, response) => {
  const { rows } = await pool.query<{ change: string }>({
    name: 'detail',
    text: 'select change from bare.details where place = $1',
    values: [Number(request.params.place)],
  });
  response.type('json').send(rows[0]!.change);
});
const http = app.listen(0, '127.0.0.1', () => console.log((http.address() as AddressInfo).port));
