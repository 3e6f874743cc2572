import { request, type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import { text } from 'node:stream/consumers';

/** An HTTP response with its body as text. */
export interface HttpResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Sends a request with `node:http`, because `fetch` supports neither an agent nor a `Host` header. The method is POST if there is a body, otherwise GET. */
export function sendRequest(url: string, options: RequestOptions, body?: string): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: body === undefined ? 'GET' : 'POST', ...options }, (response) => {
      text(response).then((read) => resolve({ status: response.statusCode!, headers: response.headers, body: read }), reject);
    });
    const late = () => Object.assign(new Error(`no response within ${options.timeout} ms`), { code: 'NO_ANSWER' });
    sent.on('timeout', () => sent.destroy(late()));
    sent.on('error', reject);
    sent.end(body);
  });
}
