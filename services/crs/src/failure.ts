import { ServiceError } from '@crs/kit/errors';

/** Something that stops a command with exit code 1, in words for the person who typed it. */
export class Failure extends Error {
  override readonly name = 'Failure';
  /** Lower snake case, for programs. */
  readonly code: string;

  constructor(code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** What to do about an error whose text can't know it, because a service wrote it or nobody answered. */
const ADVICE: Partial<Record<ServiceError['kind'], string>> = {
  unavailable: 'Start it with `npm start`, or check the CRS_*_ADMIN_ADDRESS settings; `crs status` shows what is down.',
  deadline_exceeded: 'It may have been done nevertheless: look before you try again; `crs status` shows what is slow.',
  unauthenticated: 'Check CRS_OPERATOR_FILE, CRS_OPERATOR_CREDENTIAL or the operator.json of the data directory.',
  internal: "The service's log holds the cause.",
};

/** An error of any origin as a code for programs and one sentence or two for people. */
export function describe(thrown: unknown): { code: string; message: string } {
  if (thrown instanceof Failure) return { code: thrown.code, message: thrown.message };
  if (thrown instanceof ServiceError) {
    const advice = ADVICE[thrown.kind];
    return { code: thrown.kind, message: advice ? `${thrown.message} ${advice}` : thrown.message };
  }
  return { code: 'internal', message: thrown instanceof Error ? thrown.message : String(thrown) };
}
