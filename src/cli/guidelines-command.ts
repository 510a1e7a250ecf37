import { AppError } from '../domain/errors.ts';
import { type GuidelineRow, listGuidelines } from '../guidelines/guideline-store.ts';
import { diffLines, shortenDiff } from '../lib/line-diff.ts';
import { maskText } from '../lib/mask.ts';
import { stripControl } from '../lib/strip-control.ts';
import type { Columns } from '../operations/show.ts';
import { formatList } from '../operations/text-table.ts';
import {
  type ComparedGuideline,
  type ComparedGuidelines,
  compareGuidelines,
  installsWithGuidelines,
  type UnreadInstall,
} from '../operator/guidelines/compare-guidelines.ts';
import { type SyncedGuidelines, syncGuidelines } from '../operator/guidelines/sync-guidelines.ts';
import type { ExitStatus, Printed } from './define-command.ts';
import { pickInstalls } from './pick-install.ts';
import type { ServicesSession, StorageSession } from './session.ts';
import { decidedBy } from './with-storage.ts';

/** `gangway guidelines`: what manuals publish, in the tools that show it. */

export interface OfProject {
  install: string | undefined;
  project: string | undefined;
}

export type ListedGuideline = Pick<
  GuidelineRow,
  | 'install'
  | 'tool'
  | 'project'
  | 'manualId'
  | 'publicationNumber'
  | 'writtenAt'
  | 'lookedAt'
  | 'state'
  | 'since'
  | 'says'
>;

export async function runGuidelinesList(
  { install }: Pick<OfProject, 'install'>,
  { storage }: StorageSession,
): Promise<Printed> {
  const rows = await listGuidelines(storage);
  return printGuidelines(rows.filter((row) => install === undefined || row.install === install));
}

export function printGuidelines(guidelines: readonly ListedGuideline[]): Printed {
  return {
    data: { guidelines: guidelines.map(toListed) },
    text: () => formatList(guidelines, columns, 'No project was looked at yet: gangway guidelines sync'),
  };
}

/** Digests are of no use to anyone. */
function toListed(row: ListedGuideline): ListedGuideline {
  const { install, tool, project, manualId, publicationNumber, writtenAt, lookedAt, state, since, says } = row;
  return { install, tool, project, manualId, publicationNumber, writtenAt, lookedAt, state, since, says };
}

const columns: Columns<ListedGuideline> = [
  ['tool', ({ tool }) => tool],
  ['project', ({ project }) => project],
  ['install', ({ install }) => install],
  ['written', ({ manualId, publicationNumber }) => namePublication(manualId, publicationNumber)],
  ['at', ({ writtenAt }) => writtenAt],
  ['state', ({ state }) => state],
  ['since', ({ since }) => since],
  ['says', ({ says }) => says],
];

export async function runGuidelinesDiff(given: OfProject, session: ServicesSession): Promise<Printed> {
  return printDiff(await compare(given, session));
}

export async function runGuidelinesShow(
  given: OfProject & { project: string },
  session: ServicesSession,
): Promise<Printed> {
  return printShown(await compare(given, session));
}

export async function runGuidelinesSync(
  { overwrite: overwrites, project, ...given }: OfProject & { overwrite: boolean },
  session: ServicesSession,
): Promise<Printed> {
  const { services, terminal } = session;
  const wish = { project, overwrites, by: decidedBy() };
  return printSynced(await syncGuidelines(services, pick(session, given), wish, terminal.signal));
}

async function compare(given: OfProject, session: ServicesSession): Promise<ComparedGuidelines> {
  const { services, terminal } = session;
  return await compareGuidelines(services, pick(session, given), given.project, terminal.signal);
}

/** @throws AppError `conflict` if no install can have any */
function pick(session: ServicesSession, { install }: Pick<OfProject, 'install'>): string[] {
  const { services } = session;
  if (install !== undefined) return pickInstalls(session, services.installs, install);
  const installs = installsWithGuidelines(services);
  if (installs.length > 0) return installs;
  const message = 'No install can have guidelines: it takes an account of your own, and a tool that shows them';
  throw new AppError('conflict', message);
}

export function printDiff(compared: ComparedGuidelines): Printed {
  const different = compared.guidelines.filter(({ verdict }) => verdict !== 'shown' && verdict !== 'landed');
  return {
    data: compared,
    text: () => (different.length === 0 ? 'Nothing differs.' : different.map(sayDifference).join('\n\n')),
    ...endOf(
      compared.unread,
      different.map(({ verdict }) => statusOf(verdict)),
    ),
  };
}

export function printShown(compared: ComparedGuidelines): Printed {
  return {
    data: compared,
    text: () => compared.guidelines.map(sayAll).join('\n\n'),
    ...endOf(compared.unread, []),
  };
}

export function printSynced(synced: SyncedGuidelines): Printed {
  const { guidelines, unread, left } = synced;
  const of = left === 1 ? '1 project was' : `${left} projects were`;
  const printed = endOf(
    unread,
    guidelines.map(({ result }) => statusOf(result)),
  );
  return {
    data: synced,
    text: () => formatList(guidelines, syncedColumns, 'Nothing is published for a job of a linked project.'),
    problems: [...printed.problems, ...(left === 0 ? [] : [`${of} not looked at, because the tool does not answer`])],
    status: left === 0 ? printed.status : 1,
  };
}

const syncedColumns: Columns<SyncedGuidelines['guidelines'][number]> = [
  ['tool', ({ tool }) => tool],
  ['project', ({ project }) => project],
  ['publication', ({ publication: of }) => namePublication(of?.manualId ?? null, of?.publicationNumber ?? null)],
  ['result', ({ result }) => result],
  ['says', ({ says, notes }) => says ?? (notes.length === 0 ? '' : `${notes.join('; ')}`)],
];

/** 3: a person has to decide; 2: a sync would write it. */
function statusOf(verdict: ComparedGuideline['verdict'] | 'written' | 'busy'): ExitStatus {
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
function endOf(
  unread: readonly UnreadInstall[],
  statuses: readonly ExitStatus[],
): { problems: string[]; status: ExitStatus } {
  const all: readonly ExitStatus[] = unread.length > 0 ? [...statuses, 1] : statuses;
  const worst = ([1, 3, 2] as const).find((status) => all.includes(status)) ?? 0;
  return { problems: unread.map(({ install, failure }) => `${install}: ${failure}`), status: worst };
}

function sayDifference(compared: ComparedGuideline): string {
  const { found, wanted } = compared;
  const lines =
    found === null || wanted === null ? [] : shortenDiff(diffLines(toLines(found), toLines(wanted))).map(forTerminal);
  return [headOf(compared), ...lines].join('\n');
}

const meanings: Readonly<Record<ComparedGuideline['verdict'], string>> = {
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

function headOf({ tool, project, manualId, publicationNumber, verdict, says }: ComparedGuideline): string {
  const of = manualId === null ? '' : `, ${namePublication(manualId, publicationNumber)}`;
  const why = says === null ? '' : `: ${says}`;
  return `${project} in ${tool}${of}: ${meanings[verdict]}${verdict === 'write' ? '' : why}`;
}

function sayAll(compared: ComparedGuideline): string {
  const { written, notes, found, wanted } = compared;
  const at = written?.at ?? 'not known to be there';
  const last = written === null ? 'nothing' : `${namePublication(written.manualId, written.publicationNumber)}, ${at}`;
  return [
    headOf(compared),
    `written last by Gangway: ${last}`,
    ...notes.map((note) => `left out: ${note}`),
    ...sayText('published', wanted),
    ...sayText('shown by the tool', found),
  ].join('\n');
}

function sayText(what: string, text: string | null): string[] {
  if (text === null) return [`${what}: not known`];
  return [`${what}:`, ...toLines(text).map((line) => forTerminal(`  ${line}`))];
}

function forTerminal(line: string): string {
  return maskText(stripControl(line));
}

/** HTML has its blocks on one line. */
function toLines(text: string): string[] {
  return text.split(/\n|(?<=<\/(?:p|h[1-6]|li|ul|ol|pre|blockquote|tr|table)>)(?=<)/);
}

function namePublication(manualId: string | null, publicationNumber: number | null): string {
  return manualId === null ? '' : `publication ${publicationNumber} of ${manualId}`;
}
