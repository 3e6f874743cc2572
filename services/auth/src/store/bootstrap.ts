/** What the installation stores before anybody can sign in. */
export { ensureOperator } from './operators.ts';
export { ensureProgram } from './programs.ts';
