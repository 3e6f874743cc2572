/** Prints the OpenAPI document of the source, from which the types of both clients are generated. */
import { buildDocument } from '../../services/api-gateway/src/openapi/document.ts';
import { ROUTES } from '../../services/api-gateway/src/routes/index.ts';

process.stdout.write(`${JSON.stringify(buildDocument(ROUTES, 'https://api.example'), null, 2)}\n`);
