/** What can't be installed and what to do about it, in a sentence for the person who installs. */
export class Failure extends Error {}
