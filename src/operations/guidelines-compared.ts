import { z } from 'zod';
import { AppError } from '../domain/errors.ts';
import { guidelineStates } from '../domain/guideline-state.ts';
import { lookAtProject, type ProjectLook } from '../guidelines/look-at-project.ts';
import { readTargets, takesGuidelines } from '../guidelines/read-targets.ts';
import { diffLines, shortenDiff } from '../lib/line-diff.ts';
import { askEach, sayUnread, unread } from './ask-each.ts';
import { type Call, type ExitStatus, type OperationContext, read } from './operation.ts';
import { count, maybeInstant, maybeText, ofInstall, pickInstalls, text } from './values.ts';

/** What is published for projects, beside what their tools show, both as they are now. */

export const state = z.enum(guidelineStates);

export const ofProject = { install: z.string(), tool: z.string(), project: z.string() };

export const publication = { manualId: maybeText, publicationNumber: count.nullable() };

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

const Answer = z.object({ guidelines: z.array(Compared), unread });

export const onlyProject = text.optional().describe("Only this project: the tool's id of it.");

export const diff = read(
  'GET /guidelines/compared',
  'Show what a sync would change, line by line; nothing is written',
  {
    asks: 'tools',
    in: z.strictObject({ install: ofInstall, project: onlyProject }),
    out: Answer,
    run: (input, ctx, call) => compare(ctx, input, call),
    show(answer) {
      const different = answer.guidelines.filter(isDifferent);
      return different.length === 0 ? 'Nothing differs.' : different.map(sayDifference).join('\n\n');
    },
    problems: sayUnread,
    status: (answer) =>
      statusOf(
        answer.unread,
        answer.guidelines.map(({ verdict }) => verdict),
      ),
  },
);

export const show = read(
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
);

/** It changes nothing. */
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

/** Those that may have guidelines: accounts of one's own, in front of a tool that shows them. */
export function installsWith(ctx: OperationContext, named: string | undefined): string[] {
  return pickInstalls(ctx, named).filter((install) => named !== undefined || takesGuidelines(ctx, install));
}

/** @throws AppError `not_found` if a project is named and nothing was found for it */
export function refuseUnknownProject(project: string | undefined, found: number): void {
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

/** HTML has its blocks on one line. */
function toLines(of: string | null): string[] | null {
  return of?.split(/\n|(?<=<\/(?:p|h[1-6]|li|ul|ol|pre|blockquote|tr|table)>)(?=<)/) ?? null;
}

function isDifferent({ verdict }: Compared): boolean {
  return verdict !== 'shown' && verdict !== 'landed';
}

type Found = Compared['verdict'] | 'written' | 'unclaimed' | 'busy';

/** 3: a person has to decide; 2: a sync would write it. */
const statuses: Readonly<Partial<Record<Found, ExitStatus>>> = {
  ...{ edited: 3, foreign: 3, disputed: 3 },
  write: 2,
  ...{ refused: 1, cut: 1, failing: 1, busy: 1 },
};

/** What failed says more than what waits. */
export function statusOf(failed: z.output<typeof unread>, found: readonly Found[]): ExitStatus {
  if (failed.length > 0) return 1;
  return ([1, 3, 2] as const).find((status) => found.some((one) => statuses[one] === status)) ?? 0;
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

export function sayPublication({ manualId, publicationNumber }: Pick<Compared, keyof typeof publication>): string {
  return manualId === null ? '' : `publication ${publicationNumber} of ${manualId}`;
}
