/** Prints the OpenAPI document of the source, from which the types of both clients are generated. */
import { buildDocument } from '../../services/api-gateway/src/openapi/document.ts';
import { TABLES } from '../../services/api-gateway/src/routes/index.ts';

process.stdout.write(`${JSON.stringify(buildDocument(TABLES, 'https://api.example'), null, 2)}\n`);
