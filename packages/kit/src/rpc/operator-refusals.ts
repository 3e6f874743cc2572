import { REASONS } from '../errors.ts';
import { meter } from '../process/telemetry.ts';

/** Counts calls that were refused before their handlers ran, by the reason of the error. */
export function operatorRefusals() {
  const refusals = meter('kit').createCounter('crs.operator.refusals', {
    description: 'Refused calls for operators, by reason.',
  });
  // A counter must start at zero, or a graph of increases would miss the first refusal.
  for (const reason of [REASONS.invalidOperator, REASONS.operatorRole, REASONS.operatorBound]) refusals.add(0, { reason });
  return refusals;
}
