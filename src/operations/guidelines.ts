import { z } from 'zod';
import { AppError } from '../domain/errors.ts';
import { guidelineStates } from '../domain/guideline-state.ts';
import { listGuidelines } from '../guidelines/guideline-store.ts';
import { syncInstall } from '../guidelines/sync-install.ts';
import { sayCount } from '../lib/say-count.ts';
import { askEach, sayUnread, unread } from './ask-each.ts';
import {
  diff,
  installsWith,
  ofProject,
  onlyProject,
  publication,
  refuseUnknownProject,
  sayPublication,
  show,
  state,
  statusOf,
} from './guidelines-compared.ts';
import { act, group, read } from './operation.ts';
import { type Columns, fieldColumns, table } from './show.ts';
import { count, instant, maybeInstant, maybeText, ofInstall } from './values.ts';

/** Guidelines for trainers, from the manuals of the marketplace to the projects in the tools. */

const Guideline = z
  .object({
    ...ofProject,
    ...publication,
    writtenAt: maybeInstant,
    lookedAt: instant,
    state,
    since: instant,
    says: maybeText.describe('Why it is not written.'),
  })
  .meta({ id: 'Guideline' });

export type Guideline = z.output<typeof Guideline>;

export const guidelineColumns: Columns<Guideline> = [
  ...fieldColumns('project', 'tool', 'install'),
  ['written', sayPublication],
  ['at', ({ writtenAt }) => writtenAt, { as: 'age' }],
  ['state', ({ state: of }) => of, { as: 'state' }],
  ['since', ({ since }) => since, { as: 'age' }],
  ['problem', ({ says }) => says],
];

const Synced = z
  .object({
    ...ofProject,
    publication: z.object({ manualId: z.string(), publicationNumber: count }).nullable(),
    result: z.enum([...guidelineStates, 'written', 'busy']),
    says: maybeText,
    notes: z.array(z.string()),
  })
  .meta({ id: 'SyncedGuideline' });

const syncedColumns: Columns<z.output<typeof Synced>> = [
  ...fieldColumns('project', 'tool'),
  ['publication', ({ publication: of }) => (of === null ? '' : sayPublication(of))],
  ['result', ({ result }) => result],
  ['problem', ({ says, notes }) => says ?? notes.join('; ')],
];

export const operations = group('guidelines', {
  list: read('GET /guidelines', 'List which guidelines were written to which project, and what the last check found', {
    in: z.strictObject({ install: ofInstall }),
    out: z.object({ guidelines: z.array(Guideline) }),
    async run({ install }, ctx) {
      const all = await listGuidelines(ctx);
      return { guidelines: all.filter((row) => install === undefined || row.install === install) };
    },
    show: table(guidelineColumns, 'No project was looked at yet: gangway guidelines sync', 'guidelines'),
  }),
  diff,
  sync: act(
    'POST /guidelines/sync',
    'Write published guidelines to the tools, except over texts that were edited there',
    {
      asks: 'tools',
      in: z.strictObject({
        install: ofInstall,
        project: onlyProject,
        overwrite: z
          .boolean()
          .default(false)
          .describe('Replace texts too that were edited in the tool, or that Gangway did not write.'),
      }),
      out: z.object({
        guidelines: z.array(Synced),
        unread,
        left: count.describe('How many projects were not looked at, because their tool does not answer.'),
      }),
      async run({ install, project, overwrite }, ctx, { by, signal }) {
        const installs = installsWith(ctx, install);
        if (installs.length === 0) {
          const message =
            'No install can have guidelines: that takes an account of your own, and a tool that shows them';
          throw new AppError('conflict', message);
        }
        let left = 0;
        const { found, unread: failed } = await askEach(installs, signal, async (of) => {
          const synced = await syncInstall(ctx, { install: of, project, overwrites: overwrite, by }, signal);
          left += synced.left;
          return synced.projects.map((one) => ({ install: of, ...one }));
        });
        refuseUnknownProject(project, found.length + failed.length);
        return { guidelines: found, unread: failed, left };
      },
      show: table(syncedColumns, 'Nothing is published for a job of a linked project.', 'guidelines'),
      problems: (answer) => [
        ...sayUnread(answer),
        ...(answer.left === 0
          ? []
          : [`${sayCount(answer.left, 'project')} not looked at, because the tool does not answer`]),
      ],
      status: (answer) =>
        answer.left > 0
          ? 1
          : statusOf(
              answer.unread,
              answer.guidelines.map(({ result }) => result),
            ),
    },
  ),
  show,
});
