import { z } from 'zod';
import { guidelineStates } from '../../domain/guideline-state.ts';
import { count, instant, maybeInstant, maybeText, text } from './common-schema.ts';
import { ofInstallQuery } from './customer-schema.ts';

/** What manuals publish, and what the tools show as guidelines. */

const state = z.enum(guidelineStates);

const ofProject = { install: z.string(), tool: z.string(), project: z.string() };

const named = { manualId: maybeText, publicationNumber: count.nullable() };

const unread = z
  .array(z.object({ install: z.string(), failure: z.string() }))
  .describe('Installs whose manuals could not be read, and why.');

const guideline = z
  .object({
    ...ofProject,
    ...named,
    writtenAt: maybeInstant,
    lookedAt: instant,
    state,
    since: instant,
    says: maybeText.describe('Why it is not written.'),
  })
  .meta({ id: 'Guideline' });

export const guidelinesAnswer = z.object({ guidelines: z.array(guideline) });

export const compareQuery = ofInstallQuery.extend({ project: text.optional() });

const compared = z
  .object({
    ...ofProject,
    ...named,
    verdict: z.enum([
      ...['shown', 'landed', 'write', 'older', 'cut', 'edited', 'foreign', 'disputed', 'refused', 'failing'],
    ] as const),
    says: maybeText,
    notes: z.array(z.string()).describe('What the conversion left out.'),
    wanted: maybeText.describe('What is published, as the tool takes it.'),
    found: maybeText.describe('What the tool shows.'),
    written: z
      .object({
        manualId: z.string(),
        publicationNumber: count.nullable(),
        at: maybeInstant.describe('Null while it is not known whether the tool has it.'),
        state,
      })
      .nullable()
      .describe('What Gangway wrote last.'),
  })
  .meta({ id: 'ComparedGuideline' });

export const comparedAnswer = z.object({ guidelines: z.array(compared), unread });

export const syncBody = compareQuery.extend({
  overwrite: z.boolean().optional().describe('Whether texts that Gangway did not write are replaced too.'),
});

const synced = z
  .object({
    ...ofProject,
    publication: z.object({ manualId: z.string(), publicationNumber: count }).nullable(),
    result: z.enum([...guidelineStates, 'written', 'busy']),
    says: maybeText,
    notes: z.array(z.string()),
  })
  .meta({ id: 'SyncedGuideline' });

export const syncedAnswer = z.object({
  guidelines: z.array(synced),
  unread,
  left: count.describe('How many projects were not looked at, because their tool does not answer.'),
});
