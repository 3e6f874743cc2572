import { ServiceError } from '@crs/kit/errors';

/** Ends a command with exit code 1. Its message is for the person who ran the command. */
export class Failure extends Error {
  override readonly name = 'Failure';
  /** Lower snake case, for programs. */
  readonly code: string;

  constructor(code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** What to do after an error of a service, or if it didn't respond. */
const ADVICE: Partial<Record<ServiceError['kind'], string>> = {
  unavailable: 'Start it with `npm start`, or check the CRS_*_ADMIN_ADDRESS settings. `crs status` shows which service is down.',
  deadline_exceeded: 'The command may have taken effect: check before you try again. `crs status` shows which service is slow.',
  unauthenticated: 'Check CRS_OPERATOR_FILE, CRS_OPERATOR_CREDENTIAL or the operator.json of the data directory.',
  internal: "The service's log has the cause.",
};

/** Describes any error: a code for programs, and a sentence or two for people. */
export function describe(thrown: unknown): { code: string; message: string } {
  if (thrown instanceof Failure) return { code: thrown.code, message: thrown.message };
  if (thrown instanceof ServiceError) {
    const advice = ADVICE[thrown.kind];
    return { code: thrown.kind, message: advice ? `${thrown.message} ${advice}` : thrown.message };
  }
  return { code: 'internal', message: thrown instanceof Error ? thrown.message : String(thrown) };
}
