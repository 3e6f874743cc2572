/**
 * Counts the requests from an address with a status in the log. A request either has its own line, or is counted in a line that the requests of one second
 * share. A new second may begin at any request.
 */
export function logged(log: readonly string[], status: number, from: string): { lines: number; requests: number } {
  const lines = log.map((line) => JSON.parse(line)).filter((line) => line.status === status && line.client_address === from);
  return { lines: lines.length, requests: lines.reduce((sum, { count = 1 }) => sum + count, 0) };
}

/** More than the number of shared lines in a few seconds. */
export const FEW_LINES = 10;

/**
 * Returns the maximum number of log lines for the repeated refusals of a client in this many milliseconds: for each second that they overlap, one line for
 * the first refusal and one with the count of the others.
 */
export const mostLines = (ms: number): number => 2 * (Math.ceil(ms / 1_000) + 1);
