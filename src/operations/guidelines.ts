import { z } from 'zod';
import { AppError } from '../domain/errors.ts';
import { guidelineStates } from '../domain/guideline-state.ts';
import { listGuidelines } from '../guidelines/guideline-store.ts';
import { lookAtProject, type ProjectLook, readTargets, takesGuidelines } from '../guidelines/look-at-project.ts';
import { syncInstall } from '../guidelines/sync-guidelines.ts';
import { diffLines, shortenDiff } from '../lib/line-diff.ts';
import { sayCount } from '../lib/text.ts';
import { act, type Call, type ExitStatus, group, type OperationContext, read } from './operation.ts';
import { askEach, pickInstalls, sayUnread, unread } from './pick-installs.ts';
import { type Columns, fieldColumns, table } from './show.ts';
import { count, flag, instant, maybeInstant, maybeText, named, ofInstall, text } from './values.ts';

/** Guidelines for trainers, from the manuals of the marketplace to the projects in the tools. */

const state = z.enum(guidelineStates);

const ofProject = { install: z.string(), tool: z.string(), project: z.string() };

const publication = { manualId: maybeText, publicationNumber: count.nullable() };

const meanings = {
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

const verdicts = Object.keys(meanings) as (keyof typeof meanings)[];

const lines = z.array(z.string()).nullable();

const Compared = named('ComparedGuideline', {
  ...ofProject,
  ...publication,
  verdict: z.enum(verdicts),
  says: maybeText,
  notes: z.array(z.string()).describe('What the conversion left out.'),
  wanted: lines.describe('What is published, in the format of the tool, line by line.'),
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
});

type Compared = z.output<typeof Compared>;

const Answer = z.object({ guidelines: z.array(Compared), unread });

const onlyProject = text.optional().describe("Only this project: the tool's id of it.");

const Guideline = named('Guideline', {
  ...ofProject,
  ...publication,
  writtenAt: maybeInstant,
  lookedAt: instant,
  state,
  since: instant,
  says: maybeText.describe('Why it is not written.'),
});

export type Guideline = z.output<typeof Guideline>;

export const guidelineColumns: Columns<Guideline> = [
  ...fieldColumns('project', 'tool', 'install'),
  ['written', sayPublication],
  ['at', ({ writtenAt }) => writtenAt, { as: 'age' }],
  ['state', ({ state: of }) => of, { as: 'state' }],
  ['since', ({ since }) => since, { as: 'age' }],
  ['problem', ({ says }) => says],
];

const Synced = named('SyncedGuideline', {
  ...ofProject,
  publication: z.object({ manualId: z.string(), publicationNumber: count }).nullable(),
  result: z.enum([...guidelineStates, 'written', 'busy']),
  says: maybeText,
  notes: z.array(z.string()),
});

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
  diff: read('GET /guidelines/compared', 'Show what a sync would change, line by line; nothing is written', {
    asks: 'tools',
    in: z.strictObject({ install: ofInstall, project: onlyProject }),
    out: Answer,
    run: (input, ctx, call) => compare(ctx, input, call),
    show(answer) {
      const different = answer.guidelines.filter(isDifferent);
      return different.length === 0 ? 'Nothing differs.' : different.map(sayDifference).join('\n\n');
    },
    problems: sayUnread,
    status: ({ unread: failed, guidelines }) => statusOf(failed, guidelines.map(verdictOf)),
  }),
  sync: act(
    'POST /guidelines/sync',
    'Write published guidelines to the tools, except over texts that were edited there',
    {
      asks: 'tools',
      in: z.strictObject({
        install: ofInstall,
        project: onlyProject,
        overwrite: flag('Also replace texts that were edited in the tool, or that Gangway did not write.'),
      }),
      out: z.object({
        guidelines: z.array(Synced),
        unread,
        left: count.describe('How many projects were not looked at, because their tool does not answer.'),
      }),
      async run({ install, project, overwrite }, ctx, { by, signal }) {
        const installs = installsWith(ctx, install);
        if (installs.length === 0) {
          const needs = 'an account of your own, and a tool that shows them';
          throw new AppError('conflict', `No install can have guidelines: that takes ${needs}`);
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
      problems({ left, ...answer }) {
        const unasked = `${sayCount(left, 'project')} not looked at, because the tool does not answer`;
        return [...sayUnread(answer), ...(left === 0 ? [] : [unasked])];
      },
      status: ({ left, unread: failed, guidelines }) => (left > 0 ? 1 : statusOf(failed, guidelines.map(verdictOf))),
    },
  ),
  show: read(
    'GET /guidelines/projects/{project}',
    'Show what is published for a project, what was left out of it, and what the tool shows',
    {
      asks: 'tools',
      in: z.strictObject({ project: text.describe("The tool's id of it."), install: ofInstall }),
      out: Answer,
      run: (input, ctx, call) => compare(ctx, input, call),
      show: (answer) => answer.guidelines.map(sayAll).join('\n\n'),
      problems: sayUnread,
    },
  ),
});

/** Changes nothing. */
async function compare(
  ctx: OperationContext,
  { install: named, project }: { install?: string | undefined; project?: string | undefined },
  { signal }: Call,
): Promise<z.input<typeof Answer>> {
  const seen = new Set<string>();
  const { found, unread: failed } = await askEach(installsWith(ctx, named), signal, async (install) => {
    const looks: ProjectLook[] = [];
    for (const target of await readTargets(ctx, install, project, signal)) {
      const key = JSON.stringify([target.tool, target.project]);
      if (seen.has(key)) continue;
      seen.add(key);
      looks.push(await lookAtProject(ctx, target, false, signal));
    }
    return looks;
  });
  refuseUnknownProject(project, found.length + failed.length);
  return { guidelines: found.map(toCompared), unread: failed };
}

/** Accounts of your own whose tool shows guidelines. */
function installsWith(ctx: OperationContext, named: string | undefined): string[] {
  return pickInstalls(ctx, named).filter((install) => named !== undefined || takesGuidelines(ctx, install));
}

/** @throws AppError `not_found` if nothing was found for the named project */
function refuseUnknownProject(project: string | undefined, found: number): void {
  if (project === undefined || found > 0) return;
  throw new AppError('not_found', `No known link of project ${project} has a job with published guidelines`);
}

function toCompared({
  target,
  known,
  publication: claim,
  wanted,
  found,
  ...look
}: ProjectLook): z.input<typeof Compared> {
  const { manualId = null, publicationNumber = null } = claim ?? {};
  const published = { manualId, publicationNumber, wanted: toLines(wanted), found: toLines(found) };
  return { ...target, ...look, ...published, written: toWritten(known) };
}

function toWritten(known: ProjectLook['known']): Compared['written'] {
  if (known === undefined || known.manualId === null) return null;
  const { manualId, publicationNumber, heldDigest, writtenAt, state: of } = known;
  return { manualId, publicationNumber, at: heldDigest === null ? null : writtenAt, state: of };
}

/** HTML is broken after each block, because it has no line ends. */
function toLines(of: string | null): string[] | null {
  return of?.split(/\n|(?<=<\/(?:p|h[1-6]|li|ul|ol|pre|blockquote|tr|table)>)(?=<)/) ?? null;
}

function isDifferent({ verdict }: Compared): boolean {
  return verdict !== 'shown' && verdict !== 'landed';
}

type Verdict = Compared['verdict'] | z.output<typeof Synced>['result'];

function verdictOf(one: { verdict: Verdict } | { result: Verdict }): Verdict {
  return 'verdict' in one ? one.verdict : one.result;
}

/** 3: a person has to decide; 2: a sync would write it. */
const statuses: Readonly<Partial<Record<Verdict, ExitStatus>>> = {
  ...{ edited: 3, foreign: 3, disputed: 3 },
  write: 2,
  ...{ refused: 1, cut: 1, failing: 1, busy: 1 },
};

/** A failure comes before what waits. */
function statusOf(failed: z.output<typeof unread>, found: readonly Verdict[]): ExitStatus {
  if (failed.length > 0) return 1;
  return ([1, 3, 2] as const).find((status) => found.some((one) => statuses[one] === status)) ?? 0;
}

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

function sayPublication({ manualId, publicationNumber }: Pick<Compared, keyof typeof publication>): string {
  return manualId === null ? '' : `publication ${publicationNumber} of ${manualId}`;
}
