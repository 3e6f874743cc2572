import { meter } from '@crs/kit/process/telemetry';

/** Measures calls of tools by the status that REST would have answered with: a tool's refusal is a result with status 200. */
export function measureTools(): (tool: string, status: number, seconds: number) => void {
  const duration = meter('tool-gateway').createHistogram('crs.tool.call.duration', {
    unit: 's',
    description: 'Time that a tool took, by the status that REST would have answered with.',
  });
  return (tool, status, seconds) => duration.record(seconds, { 'crs.tool.name': tool, 'http.response.status_code': status });
}
