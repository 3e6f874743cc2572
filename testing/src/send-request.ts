import { request, type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import { text } from 'node:stream/consumers';

/** An HTTP answer, with its body as text. */
export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Sends a request by `node:http`, because `fetch` takes neither an agent nor a `Host`. The method is POST where there is a body, else GET. */
export function sendRequest(url: string, options: RequestOptions, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: body === undefined ? 'GET' : 'POST', ...options }, (response) => {
      text(response).then((read) => resolve({ status: response.statusCode!, headers: response.headers, body: read }), reject);
    });
    const late = () => Object.assign(new Error(`no answer within ${options.timeout} ms`), { code: 'NO_ANSWER' });
    sent.on('timeout', () => sent.destroy(late()));
    sent.on('error', reject);
    sent.end(body);
  });
}
