import { AppError } from '../domain/errors.ts';
import { employerRoutes } from './employer/employer-api.ts';
import { type Fault, type Faults, SetFaults, type WantedFaults } from './faults/faults-schema.ts';
import type { Marketplace } from './marketplace.ts';
import { platformRoutes } from './platform-api.ts';
import { parseRequest } from './platform-request-schema.ts';
import { findIn } from './sandbox-state.ts';

export interface FaultsInForce {
  /** Null for all installs. */
  installId: string | null;
  faults: Faults;
}

/**
 * Replaces what was set before, for one install, for one employer's account, or for all. Without `wanted` nothing goes
 * wrong any more.
 */
export function setFaults(
  { state, dice }: Marketplace,
  installId: string | undefined,
  wanted: WantedFaults = {},
): FaultsInForce {
  const { faults = {} } = parseRequest(SetFaults, { faults: wanted });
  if (installId !== undefined && !state.accounts.has(installId)) findIn(state.installs, 'install', installId);
  requireOperations(faults);
  dice.setFaults(installId, faults);
  return { installId: installId ?? null, faults };
}

/** A fault of an unknown operation would never happen, and nothing would say why. */
function requireOperations(faults: Faults): void {
  const known: string[] = [...new Set([...platformRoutes, ...employerRoutes].map(({ operation }) => operation))];
  const all: [string, Fault | undefined][] = Object.entries(faults);
  for (const [kind, fault] of all) {
    const unknown = fault?.operations?.find((operation) => !known.includes(operation));
    if (unknown === undefined) continue;
    const problem = `no operation "${unknown}"; there are ${known.join(', ')}`;
    throw new AppError('invalid', `faults.${kind}.operations: ${problem}`);
  }
}
