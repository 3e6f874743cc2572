import { runMigrations } from '@crs/kit/migrate';
import { migrations } from '../migrations/index.ts';

await runMigrations('projects', migrations, process.env);
