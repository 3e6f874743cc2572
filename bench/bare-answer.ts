// `bench/refusals.ts` starts this to compare with: a `node:http` server that gives every request the same answer. Its argument is a `BareAnswer`
// as JSON. It prints its port.
import { createServer } from 'node:http';

export interface BareAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

const { status, headers, body } = JSON.parse(process.argv[2]!) as BareAnswer;
const http = createServer((_request, response) => {
  response.writeHead(status, headers);
  response.end(body);
});
http.listen(0, '127.0.0.1', () => console.log((http.address() as { port: number }).port));
