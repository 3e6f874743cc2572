import { afterAll } from 'vitest';
import { checkExchanges } from './world.ts';

// With `CRS_TEST_REST_PROXY=prism`, Vitest runs this before each file: the system that the files share isn't closed, so each file checks its own exchanges.
afterAll(checkExchanges);
