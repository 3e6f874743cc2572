// Sends requests that `fetch` can't send, and compares responses as a client could.
import { expectCommonResponse, type RestResponse } from '@crs/testing/rest';
import { sendRaw } from '@crs/testing/send-raw';

/** Headers whose values differ between responses. */
const VARYING = new Set(['date', 'x-request-id', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']);

/** Reduces a response to what a client could tell it apart by: status, headers and text, without the request id and varying values. */
export function comparable({ status, headers, text }: RestResponse) {
  return {
    status,
    headers: [...headers].map(([name, value]) => (VARYING.has(name) ? name : `${name}: ${value}`)).toSorted(),
    text: text.replaceAll(headers.get('x-request-id')!, '<request id>'),
  };
}

/** Sends raw bytes, and checks what holds for every REST response. @returns all responses on the connection */
export async function sendBytes(address: string, bytes: string | Buffer, method = 'GET'): Promise<RestResponse[]> {
  const answers = parseAnswers(await sendRaw(address, bytes), method);
  for (const answer of answers) expectCommonResponse(answer, method);
  return answers;
}

/** Sends a GET with exactly this path, for paths that `fetch` would normalize. */
export async function getExactly(address: string, path: string, key?: string): Promise<RestResponse> {
  const authorization = key === undefined ? '' : `Authorization: Bearer ${key}\r\n`;
  const [answer] = await sendBytes(address, `GET ${path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n${authorization}\r\n`);
  return answer!;
}

function parseAnswers(received: string, method: string): RestResponse[] {
  const answers: RestResponse[] = [];
  let rest = received;
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n');
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n');
    rest = rest.slice(end + 4);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)![1]);
    if (status === 100) continue;
    const headers = new Headers(lines.map((line) => line.split(/: ?(.*)/s, 2) as [string, string]));
    const length = method === 'HEAD' || status === 304 ? 0 : Number(headers.get('content-length'));
    const text = Buffer.from(rest).subarray(0, length).toString();
    rest = Buffer.from(rest).subarray(length).toString();
    answers.push({ status, headers, text, json: text === '' ? undefined : JSON.parse(text) });
  }
  return answers;
}
