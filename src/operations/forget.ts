import { z } from 'zod';
import { forgetPerson } from '../privacy/forget-person.ts';
import { act, group } from './operation.ts';
import { count, flag, text } from './values.ts';

/** Personal data of one person. */

export const operations = group('forget', {
  now: act('POST /forget', 'Delete the personal data of one person wherever it is no longer needed; only ids stay', {
    args: ['person'],
    in: z.strictObject({
      person: text.describe('A trainer id, or a work address.'),
      install: text.optional().describe('Only what this install knows of them.'),
      yes: flag('Clear it: it cannot be undone. Otherwise it is only counted.'),
    }),
    out: z.object({
      trainerId: z.string(),
      installs: z.array(z.string()),
      neededBy: z
        .array(z.object({ install: z.string(), reason: z.string() }))
        .describe('Installs that still need to know them. There, nothing is cleared.'),
      people: count.describe('Names and addresses, one for each install.'),
      titles: count.describe('Titles of their contracts.'),
      deliveries: count,
      toolTraces: count.describe('Memberships, receipts, invitations and work that quote a tool.'),
      deliveriesLeft: count.describe('Deliveries that are not handled yet, and were kept.'),
      isCleared: z.boolean(),
    }),
    async run({ person, install, yes }, ctx, { by, signal }) {
      return { ...(await forgetPerson(ctx, person, { dryRun: !yes, by, install }, signal)), isCleared: yes };
    },
    show: ({ trainerId, installs, neededBy, people, titles, deliveries, toolTraces, deliveriesLeft, isCleared }) =>
      [
        `${trainerId}: ${isCleared ? 'cleared' : 'would be cleared'} at ${installs.join(', ')}`,
        `  names and addresses, one for each install: ${people}`,
        `  contract titles: ${titles}`,
        `  stored deliveries: ${deliveries}`,
        `  memberships, receipts, invitations and work with what a tool said: ${toolTraces}`,
        ...(deliveriesLeft === 0
          ? []
          : [`${deliveriesLeft} deliveries are not handled yet and were kept: run this again once they are.`]),
        ...neededBy.map((one) => `${one.install} still needs them: ${one.reason}. Run this again when that is over.`),
        ...(isCleared ? [] : ['Nothing was changed; --yes clears it, and cannot be undone.']),
      ].join('\n'),
  }),
});
