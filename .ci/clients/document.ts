/** Prints the OpenAPI document of the source, from which the types of both clients are generated. */
import { buildDocument } from '../../services/api-gateway/src/openapi/document.ts';

process.stdout.write(`${JSON.stringify(buildDocument('https://api.example'), null, 2)}\n`);
