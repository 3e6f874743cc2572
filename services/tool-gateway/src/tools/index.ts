import { getCall } from './get-call.ts';
import { listCalls } from './list-calls.ts';
import { listEntities } from './list-entities.ts';
import { listProjects } from './list-projects.ts';

/** In the order in which they are listed. */
export const TOOLS = [listProjects, listCalls, getCall, listEntities];
