import { runMigrations } from '@crs/kit/data/migrate';
import { digestOf } from '@crs/kit/api-key';
import { migrations } from '../migrations/index.ts';
import { ensureOperator } from './store/operators.ts';

const adminUrl = await runMigrations('auth', migrations, process.env);
const credential = process.env['CRS_BOOTSTRAP_OPERATOR_CREDENTIAL'];
if (credential) await ensureOperator({ adminUrl }, 'bootstrap', digestOf(credential));
