/** Prints the OpenAPI document of the source, for the generators of the clients' types. */
import { buildDocument } from '../../services/api-gateway/src/openapi/document.ts';

process.stdout.write(`${JSON.stringify(buildDocument('https://api.example'), null, 2)}\n`);
