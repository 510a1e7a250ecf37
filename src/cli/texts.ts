import { stripControl } from '../lib/strip-control.ts';
import type { Check } from '../operator/doctor-checks.ts';

/** Texts that several commands print. */

const marks = { ok: ' ok ', warning: 'warn', failure: 'FAIL' };

/** One line for the result, and one for what to do about it. */
export function toCheckText({ name, status, says, action }: Check): string {
  const line = `${marks[status]}  ${stripControl(`${name}: ${says}`)}`;
  return action === null ? line : `${line}\n      → ${stripControl(action)}`;
}
