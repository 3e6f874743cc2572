import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Rest, RestRequest } from './rest.ts';

/** A request to the REST API and its response, as a line of JSON. */
export interface Exchange {
  /** The file and the name of the test that sent the request. */
  test: string;
  path: string;
  request: RestRequest;
  status: number;
  headers: [string, string][];
  text: string;
}

/**
 * Returns a client that also appends each exchange to a file of this process in the folder that CRS_TEST_EXCHANGES names, for
 * `.ci/openapi/check-exchanges.ts`. Without that variable, returns the client itself.
 */
export function recordExchanges(rest: Rest): Rest {
  const folder = process.env['CRS_TEST_EXCHANGES'];
  if (folder === undefined) return rest;
  return async (path, request = {}) => {
    const response = await rest(path, request);
    const { status, headers, text } = response;
    const { testPath, currentTestName } = expect.getState();
    const exchange: Exchange = {
      test: [testPath, currentTestName].join(' '),
      path,
      request,
      status,
      headers: [...headers],
      text,
    };
    appendFileSync(join(folder, `${process.pid}.ndjson`), `${JSON.stringify(exchange)}\n`);
    return response;
  };
}
