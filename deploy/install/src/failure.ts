/** The installation can't continue. The message gives the reason and the next step. */
export class Failure extends Error {}
