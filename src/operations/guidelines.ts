import { z } from 'zod';
import { AppError } from '../domain/errors.ts';
import { guidelineStates } from '../domain/guideline-state.ts';
import { listGuidelines } from '../guidelines/guideline-store.ts';
import { diffLines, shortenDiff } from '../lib/line-diff.ts';
import { sayCount } from '../lib/say-count.ts';
import { compareGuidelines, installsWithGuidelines } from '../operator/guidelines/compare-guidelines.ts';
import { syncGuidelines } from '../operator/guidelines/sync-guidelines.ts';
import { act, type ExitStatus, group, type OperationContext, read } from './operation.ts';
import { type Columns, table } from './show.ts';
import { count, instant, maybeInstant, maybeText, ofInstall, pickInstalls, refuseUnknown, text } from './values.ts';

/** Guidelines for trainers, from the manuals of the marketplace to the projects in the tools. */

const state = z.enum(guidelineStates);

const ofProject = { install: z.string(), tool: z.string(), project: z.string() };

const publication = { manualId: maybeText, publicationNumber: count.nullable() };

const unread = z
  .array(z.object({ install: z.string(), failure: z.string() }))
  .describe('Installs whose manuals could not be read, and why.');

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
  ['project', ({ project }) => project],
  ['tool', ({ tool }) => tool],
  ['install', ({ install }) => install],
  ['written', sayPublication],
  ['at', ({ writtenAt }) => writtenAt, { as: 'age' }],
  ['state', ({ state: of }) => of, { as: 'state' }],
  ['since', ({ since }) => since, { as: 'age' }],
  ['problem', ({ says }) => says],
];

const verdicts = [
  ...['shown', 'landed', 'write', 'older', 'cut', 'edited', 'foreign', 'disputed', 'refused', 'failing'],
] as const;

const lines = z.array(z.string()).nullable();

const Compared = z
  .object({
    ...ofProject,
    ...publication,
    verdict: z.enum(verdicts),
    says: maybeText,
    notes: z.array(z.string()).describe('What the conversion left out.'),
    wanted: lines.describe('What is published, as the tool takes it, line by line.'),
    found: lines.describe('What the tool shows, line by line.'),
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

type Compared = z.output<typeof Compared>;

const compared = z.object({ guidelines: z.array(Compared), unread });

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
  ['project', ({ project }) => project],
  ['tool', ({ tool }) => tool],
  ['publication', ({ publication: of }) => (of === null ? '' : sayPublication(of))],
  ['result', ({ result }) => result],
  ['problem', ({ says, notes }) => says ?? notes.join('; ')],
];

const onlyProject = text.optional().describe("Only this project: the tool's id of it.");

export const guidelines = group('guidelines', {
  list: read('GET /guidelines', 'List which guidelines were written to which project, and what the last check found', {
    in: z.strictObject({ install: ofInstall }),
    out: z.object({ guidelines: z.array(Guideline) }),
    async run({ install }, ctx) {
      const found = (await listGuidelines(ctx)).filter((row) => install === undefined || row.install === install);
      refuseUnknown(ctx, install, found);
      return { guidelines: found };
    },
    show: table(guidelineColumns, 'No project was looked at yet: gangway guidelines sync', 'guidelines'),
  }),
  diff: read('GET /guidelines/compared', 'Show what a sync would change, line by line; nothing is written', {
    asks: 'tools',
    in: z.strictObject({ install: ofInstall, project: onlyProject }),
    out: compared,
    run: ({ install, project }, ctx, { signal }) => compare(ctx, install, project, signal),
    show(answer) {
      const different = answer.guidelines.filter(isDifferent);
      return different.length === 0 ? 'Nothing differs.' : different.map(sayDifference).join('\n\n');
    },
    problems: sayUnread,
    status: (answer) =>
      worstOf(
        answer.unread,
        answer.guidelines.map(({ verdict }) => statusOf(verdict)),
      ),
  }),
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
        const installs = installsOf(ctx, install);
        if (installs.length === 0) throw noneHasGuidelines();
        return await syncGuidelines(ctx, installs, { project, overwrites: overwrite, by }, signal);
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
          : worstOf(
              answer.unread,
              answer.guidelines.map(({ result }) => statusOf(result)),
            ),
    },
  ),
  show: read(
    'GET /guidelines/projects/{project}',
    'Show what is published for a project, what was left out of it, and what the tool shows',
    {
      asks: 'tools',
      in: z.strictObject({ project: text.describe("The tool's id of it."), install: ofInstall }),
      out: compared,
      run: ({ install, project }, ctx, { signal }) => compare(ctx, install, project, signal),
      show: (answer) => answer.guidelines.map(sayAll).join('\n\n'),
      problems: sayUnread,
    },
  ),
});

async function compare(
  ctx: OperationContext,
  install: string | undefined,
  project: string | undefined,
  signal: AbortSignal,
): Promise<z.input<typeof compared>> {
  const { guidelines: found, unread: failed } = await compareGuidelines(ctx, installsOf(ctx, install), project, signal);
  const inLines = found.map((one) => ({ ...one, wanted: toLines(one.wanted), found: toLines(one.found) }));
  return { guidelines: inLines, unread: failed };
}

function installsOf(ctx: OperationContext, named: string | undefined): string[] {
  return named === undefined ? installsWithGuidelines(ctx) : pickInstalls(ctx, named);
}

function noneHasGuidelines(): AppError {
  const message = 'No install can have guidelines: that takes an account of your own, and a tool that shows them';
  return new AppError('conflict', message);
}

/** HTML has its blocks on one line. */
function toLines(of: string | null): string[] | null {
  return of?.split(/\n|(?<=<\/(?:p|h[1-6]|li|ul|ol|pre|blockquote|tr|table)>)(?=<)/) ?? null;
}

function sayUnread({ unread: failed }: { unread: z.output<typeof unread> }): string[] {
  return failed.map(({ install, failure }) => `${install}: ${failure}`);
}

function isDifferent({ verdict }: Compared): boolean {
  return verdict !== 'shown' && verdict !== 'landed';
}

/** 3: a person has to decide; 2: a sync would write it. */
function statusOf(verdict: Compared['verdict'] | z.output<typeof Synced>['result']): ExitStatus {
  switch (verdict) {
    case 'edited':
    case 'foreign':
    case 'disputed':
      return 3;
    case 'write':
      return 2;
    case 'refused':
    case 'cut':
    case 'failing':
    case 'busy':
      return 1;
    default:
      return 0;
  }
}

/** What failed says more than what waits. */
function worstOf(failed: z.output<typeof unread>, statuses: readonly ExitStatus[]): ExitStatus {
  if (failed.length > 0) return 1;
  return ([1, 3, 2] as const).find((status) => statuses.includes(status)) ?? 0;
}

const meanings: Readonly<Record<Compared['verdict'], string>> = {
  shown: 'the tool shows what is published',
  landed: 'the tool shows what is published',
  write: 'a sync would write it',
  older: 'something newer was written before',
  cut: 'the tool has changed the words',
  edited: 'edited in the tool: only --overwrite would write it',
  foreign: 'the tool has a text of its own: only --overwrite would write it',
  disputed: 'several manuals claim the project: nothing is written',
  refused: 'it cannot be written',
  failing: 'it could not be looked at',
};

function sayHead({ tool, project, verdict, says, ...of }: Compared): string {
  const published = of.manualId === null ? '' : `, ${sayPublication(of)}`;
  const problem = says === null || verdict === 'write' ? '' : `: ${says}`;
  return `${project} in ${tool}${published}: ${meanings[verdict]}${problem}`;
}

function sayDifference(one: Compared): string {
  const { found, wanted } = one;
  const changed = found === null || wanted === null ? [] : shortenDiff(diffLines(found, wanted));
  return [sayHead(one), ...changed].join('\n');
}

function sayAll(one: Compared): string {
  const { written, notes, found, wanted } = one;
  const at = written?.at ?? 'not known to be there';
  return [
    sayHead(one),
    `written last by Gangway: ${written === null ? 'nothing' : `${sayPublication(written)}, ${at}`}`,
    ...notes.map((note) => `left out: ${note}`),
    ...sayLines('published', wanted),
    ...sayLines('shown by the tool', found),
  ].join('\n');
}

function sayLines(what: string, some: readonly string[] | null): string[] {
  return some === null ? [`${what}: not known`] : [`${what}:`, ...some.map((line) => `  ${line}`)];
}

function sayPublication({
  manualId,
  publicationNumber,
}: {
  manualId: string | null;
  publicationNumber: number | null;
}) {
  return manualId === null ? '' : `publication ${publicationNumber} of ${manualId}`;
}
