import { runMigrations } from '@crs/kit/data/migrate';
import { migrations } from '../migrations/index.ts';

await runMigrations('webhooks', migrations, process.env);
