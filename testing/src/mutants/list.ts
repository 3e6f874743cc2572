import { changes } from './changes.ts';
import { credentials } from './credentials.ts';
import { directory } from './directory.ts';
import { holds } from './holds.ts';
import { imports } from './imports.ts';
import { limits } from './limits.ts';
import { lists } from './lists.ts';
import type { Mutation } from './mutation.ts';
import { operators } from './operators.ts';
import { rest } from './rest.ts';
import { signIn } from './sign-in.ts';
import { tenants } from './tenants.ts';
import { visibility } from './visibility.ts';

export const MUTATIONS: Mutation[] = [
  ...tenants,
  ...visibility,
  ...lists,
  ...changes,
  ...rest,
  ...imports,
  ...limits,
  ...credentials,
  ...operators,
  ...signIn,
  ...directory,
  ...holds,
];
