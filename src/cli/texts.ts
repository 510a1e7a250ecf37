import { stripControl } from '../lib/text.ts';
import { paint } from '../lib/tone.ts';
import type { Check } from '../operations/doctor/check.ts';

/** Texts that several commands print. */

const marks = { ok: ' ok ', warning: 'warn', failure: 'FAIL' };

/** One line for the result, and one for what to do about it. */
export function toCheckText({ name, status, says, action }: Check, stream?: NodeJS.WritableStream): string {
  const line = `${paint(status, marks[status], stream)}  ${stripControl(`${name}: ${says}`)}`;
  return action === null ? line : `${line}\n      → ${stripControl(action)}`;
}
