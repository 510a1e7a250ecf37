import { type Deviation, notableDriftMs } from '../sources/source.ts';
import { type Check, failure, ok, warning } from './doctor-checks.ts';

/** Checks of the marketplace as a whole, not of one install. */

/** Deliveries are refused from 300 s on, and a delivery takes time to arrive. */
const fatalDriftMs = 240_000;

/** @param driftsMs measured against the answers; positive if this clock is ahead */
export function checkDrift(driftsMs: readonly number[]): Check[] {
  const [most] = driftsMs.toSorted((a, b) => Math.abs(b) - Math.abs(a));
  if (most === undefined) return [];
  const seconds = Math.round(Math.abs(most) / 1000);
  const says = `this machine's clock is ${seconds} s ${most < 0 ? 'behind' : 'ahead of'} that of the marketplace`;
  const name = 'marketplace clock';
  const action = 'let this machine keep time by NTP: deliveries are refused over 300 s';
  if (Math.abs(most) >= fatalDriftMs) return [failure(name, says, action)];
  if (Math.abs(most) >= notableDriftMs) return [warning(name, says, action)];
  return [ok(name, says)];
}

/** So many are named one by one. */
const maxNamed = 10;

export function checkContract(deviations: readonly Deviation[]): Check[] {
  const name = 'contract';
  const action = 'look for a newer version of Gangway, and tell its makers';
  const broken = deviations.filter(({ isFailure }) => isFailure);
  const others = deviations.filter(({ isFailure }) => !isFailure);
  if (deviations.length === 0) return [ok(name, 'the marketplace offers all that is relied on')];
  const failures = broken.slice(0, maxNamed).map(({ where, says }) => failure(name, `${where}: ${says}`, action));
  const left = broken.length - failures.length;
  const more = left > 0 ? [failure(name, `and ${left} more like that`, action)] : [];
  return [...failures, ...more, ...sumUp(name, others)];
}

/** Few of these deviations matter, so only the first is shown. */
function sumUp(name: string, [first, ...others]: Deviation[]): Check[] {
  if (first === undefined) return [];
  const more = others.length === 0 ? '' : `; and ${others.length} more like that`;
  const says = `what the marketplace says of itself differs, or is not enough to compare: ${first.where}: ${first.says}${more}`;
  return [warning(name, says, 'nothing, as long as installs can be read')];
}
