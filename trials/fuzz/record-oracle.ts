/** Compares responses about records with the contract. */
import { envelopeProblems, type Verdict } from './oracle.ts';
import type { ExpectedLine, RecordRequest } from './record-parts.ts';
import type { WireResponse } from './wire.ts';

interface LineError {
  line: number;
  field: string | null;
  reason: unknown;
}

export function examineRecords(request: RecordRequest, response: WireResponse): Verdict {
  const found: string[] = [];
  const { status, headers, text } = response;
  // Node itself refuses headers that are too large, before it emits a request.
  const outcome = status === 431 ? '431' : outcomeOf(request, response, found);
  if (!request.expected.includes(outcome))
    found.push(`${outcome} instead of ${request.expected.join(' or ')}: ${text.slice(0, 300)}`);
  if (status === 431) return { outcome, violations: found };
  for (const [name, value] of [...headers, ['body', text] as const])
    for (const mark of request.credential.foreign) if (value.includes(mark)) found.push(`shows ${mark}: in ${name}`);
  if (!/^[0-9a-f]{32}$/.test(headers.get('x-request-id') ?? '')) found.push('no X-Request-Id');
  for (const name of ['limit', 'remaining', 'reset'])
    if (!/^\d+$/.test(headers.get(`x-ratelimit-${name}`) ?? '')) found.push(`no X-RateLimit-${name}`);
  if (status === 409 && (!/legal hold [0-9a-f-]{36} /.test(text) || headers.has('retry-after')))
    found.push(`409 that isn't a legal hold's: ${text.slice(0, 200)}`);
  if (status === 429 && !/^[1-9]\d*$/.test(headers.get('retry-after') ?? '')) found.push('no Retry-After');
  if (status === 401 && headers.get('www-authenticate') !== 'Bearer') found.push('401 without challenge');
  if (status === 405 && !headers.has('allow')) found.push('405 without Allow');
  if ((status === 201) !== headers.has('location')) found.push(`${status} with Location: ${headers.get('location')}`);
  return { outcome, violations: found };
}

function outcomeOf(request: RecordRequest, response: WireResponse, found: string[]): string {
  const { status, text, json } = response;
  if (status === 204) {
    if (text !== '') found.push(`204 with a body: ${text.slice(0, 200)}`);
    return '204';
  }
  if (status >= 400) {
    const { error } = (json ?? {}) as { error?: { code?: unknown; details?: LineError[] } };
    if (error?.details !== undefined) found.push(...errorProblems(request.lines ?? [], error.details));
    found.push(...envelopeProblems(response, error?.details === undefined ? [] : ['details']));
    return `${status} ${String(error?.code)}`;
  }
  if (request.lines) {
    found.push(...countProblems(request, json));
    return String(status);
  }
  const { call_id: id, result, ...rest } = (json ?? {}) as Record<string, unknown>;
  const path = request.target.replace(/^.*\/|\?.*$/g, '');
  if (id !== path || Object.keys(rest).length > 0) found.push(`a result: ${text.slice(0, 200)}`);
  return `${status} ${String(result)}`;
}

function countProblems({ lines = [], lineCount }: RecordRequest, json: unknown): string[] {
  const {
    lines: count,
    accepted,
    unchanged,
    refused,
    errors,
    ...rest
  } = (json ?? {}) as Record<string, number> & { errors: LineError[] };
  if (Object.keys(rest).length > 0 || !Array.isArray(errors)) return [`a result: ${JSON.stringify(json).slice(0, 200)}`];
  const problems = errorProblems(lines, errors);
  if (count !== lineCount) problems.push(`${count} lines instead of ${lineCount}`);
  if (refused !== errors.length) problems.push(`${refused} refused lines and ${errors.length} errors`);
  if (accepted! + unchanged! + refused! !== lines.length)
    problems.push(`counts: of ${lines.length} lines ${JSON.stringify(json).slice(0, 200)}`);
  return problems;
}

/** Compares the refused lines, and the fields that they are refused at. */
function errorProblems(lines: ExpectedLine[], errors: LineError[]): string[] {
  const problems: string[] = [];
  const byLine = new Map(errors.map((error) => [error.line, error]));
  if (byLine.size !== errors.length) problems.push('a line is refused twice');
  if (errors.some(({ line }, i) => i > 0 && errors[i - 1]!.line > line)) problems.push('errors are out of order');
  for (const { line, reason, ...rest } of errors) {
    if (typeof reason !== 'string' || reason === '' || Object.keys(rest).join() !== 'field')
      problems.push(`an error: of line ${line}`);
  }
  for (const { number, fault, maybe } of lines) {
    const error = byLine.get(number);
    byLine.delete(number);
    const fields = [...(maybe ?? []), ...(fault === undefined ? [] : [fault])];
    if (fault !== undefined && !error) problems.push(`a line that isn't refused: ${number}, at ${fault}`);
    if (error && !fields.includes('?') && !fields.includes(error.field ?? ''))
      problems.push(
        `a field: line ${number} is refused at ${error.field} (${String(error.reason)}) instead of ${fields.join(' or ')}`,
      );
  }
  for (const line of byLine.keys()) problems.push(`a refused line that there is not: ${line}`);
  return problems;
}
