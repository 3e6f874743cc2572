/** The installation can't continue. The message tells the person who installs the reason and the next step. */
export class Failure extends Error {}
