import { startTelemetry, type Telemetry } from '@crs/kit/process/telemetry-sdk';

// Vitest runs this before each file of the project `traced`. OpenTelemetry starts once in a process, so it stays for the next files.
const state = globalThis as { startedTelemetry?: Telemetry };
state.startedTelemetry ??= startTelemetry('test', {});
