import { z } from 'zod';
import { severities } from '../lib/raised-trouble-rules.ts';
import { paint } from '../lib/tone.ts';
import { troubleKinds } from '../lib/troubles.ts';
import { sayAge } from '../lib/units.ts';
import { maybeInstant, maybeText } from './values.ts';

/** Something that needs an operator. */
export const Trouble = z
  .object({
    kind: z.enum(troubleKinds),
    severity: z.enum(severities),
    install: maybeText,
    tool: maybeText,
    since: maybeInstant,
    count: z.int().nullable().describe('Of what `says` counts.'),
    says: z.string().describe('One sentence.'),
    detail: maybeText.describe('The error of another system, or the numbers behind.'),
    action: z.string().describe('What to do.'),
    page: maybeText.describe('The page of the console where it is done.'),
    url: maybeText.describe('Where else it is done.'),
    about: z.record(z.string(), z.string()).describe('Further ids of what it is about, such as `plan`.'),
  })
  .meta({ id: 'Trouble', description: 'Something that needs an operator.' });

/** One line on what it is and since when, one on what lies behind it, and one on what to do. */
export function sayTrouble({ severity, says, since, detail, action }: z.output<typeof Trouble>): string {
  const age = since === null ? '' : ` (${sayAge(Date.now() - Date.parse(since))})`;
  const lines = [`${says}${age}`, ...(detail === null ? [] : [detail]), `→ ${action}`];
  return `  ${paint(severity, severity.padEnd(7))}  ${lines.join(`\n${' '.repeat(11)}`)}`;
}
