import type { Adapter, AdapterLink } from '../adapters/adapter.ts';
import type { LinkEvidence } from '../domain/evidence.ts';
import { provisioningOf } from '../domain/evidence-status.ts';

/** What the wall around a customer is made of, as configured. */
export interface Walls {
  installs: RoutedInstalls;
  /** By tool. */
  adapters: ReadonlyMap<string, Adapter>;
}

export type RoutedInstalls = ReadonlyMap<string, RoutedInstall>;

interface RoutedInstall {
  tool: string;
  /** Project ids, or `prefix*`: the wall around a customer (design section 2). */
  projects: readonly string[];
}

export type RoutedLink = Pick<LinkEvidence, 'install' | 'externalProjectId' | 'externalProjectName'>;

/**
 * Why a link gives nobody access: nobody knows the mode in which it is to be provisioned; its id could be resolved to another project than it names, it is
 * another install's (also but for the case or the form of its letters), it is nobody's, or the
 * adapter has no group for it.
 */
export type Crossing = 'unknown_mode' | 'strange_id' | 'anothers' | 'not_named' | 'no_group';

/**
 * Whether a link crosses the wall of its install, and how: a customer creates links by themselves,
 * and ids are a stranger's text. Null where it is inside, or where nothing can be said of it. Never
 * throws, whatever an adapter does: one link must not hold up all the others.
 */
export function crossingOf({ installs, adapters }: Walls, link: RoutedLink): Crossing | null {
  const { install, externalProjectId } = link;
  const own = installs.get(install);
  if (own === undefined || externalProjectId === null) return null;
  const adapter = adapters.get(own.tool);
  const unfit = unfitness(adapter, externalProjectId);
  if (unfit !== null) return unfit;
  const closeness = closestFit(own.projects, (pattern) => fits(pattern, externalProjectId));
  if (closeness < 0) return 'not_named';
  const folded = fold(externalProjectId);
  const isAnothers = [...installs].some(
    ([name, { tool, projects }]) =>
      name !== install &&
      tool === own.tool &&
      closestFit(projects, (pattern) => fitsFolded(pattern, folded)) > closeness,
  );
  if (isAnothers) return 'anothers';
  return adapter === undefined || groupOf(adapter, link) !== undefined ? null : 'no_group';
}

/** The same, and whether anybody knows who is to provision it. */
export function outsideOf(walls: Walls, link: RoutedLink & Pick<LinkEvidence, 'provisioningMode'>): Crossing | null {
  const isUnknown = provisioningOf(link.provisioningMode) === 'unknown';
  return crossingOf(walls, link) ?? (isUnknown ? 'unknown_mode' : null);
}

/** The group of a link's project; undefined where the adapter gives none, or throws. */
export function groupOf(adapter: Adapter, link: RoutedLink): string | undefined {
  return askAdapter(link, (one) => adapter.groupFor(one));
}

/** The place where work on a link's project is counted, in the same way. */
export function usageScopeOf(adapter: Adapter, link: RoutedLink): string | undefined {
  return askAdapter(link, (one) => adapter.usageScopeFor?.(one));
}

function askAdapter(
  { externalProjectId, externalProjectName }: RoutedLink,
  ask: (link: AdapterLink) => unknown,
): string | undefined {
  if (externalProjectId === null) return undefined;
  const answer = attempt(() => ask({ externalProjectId, externalProjectName }));
  return typeof answer === 'string' && answer !== '' ? answer : undefined;
}

/** An adapter is others' code. What it threw is not kept: it may quote anything. */
function attempt(call: () => unknown): unknown {
  try {
    return call();
  } catch {
    return undefined;
  }
}

/** Only an adapter knows how its tool resolves an id; of the others no id may leave that open. */
function unfitness(adapter: Adapter | undefined, projectId: string): Crossing | null {
  if (adapter?.canonicalGroup === undefined) return isStrange(projectId) ? 'strange_id' : null;
  const form = attempt(() => adapter.canonicalGroup?.(projectId));
  if (typeof form !== 'string' && form !== null) return 'no_group';
  return form === projectId ? null : 'strange_id';
}

/** Also in the form that some servers give a text before they read it: `／` is a `/` then. */
function isStrange(projectId: string): boolean {
  return [projectId, projectId.normalize('NFKC')].some(
    (id) => id.trim() !== id || /^\.{0,2}$/.test(id) || /[/\\%]|\p{C}/u.test(id),
  );
}

interface Pattern {
  /** The whole id, or how it begins. */
  text: string;
  isPrefix: boolean;
  folded: string;
}

/** Folded once, as every link is held against the patterns of every install. */
const known = new WeakMap<readonly string[], Pattern[]>();

function patternsOf(projects: readonly string[]): Pattern[] {
  const patterns = known.get(projects) ?? projects.map(toPattern);
  known.set(projects, patterns);
  return patterns;
}

function toPattern(written: string): Pattern {
  const isPrefix = written.endsWith('*');
  const text = isPrefix ? written.slice(0, -1) : written;
  return { text, isPrefix, folded: fold(text) };
}

function fits({ text, isPrefix }: Pattern, projectId: string): boolean {
  return isPrefix ? projectId.startsWith(text) : projectId === text;
}

function fitsFolded({ folded, isPrefix }: Pattern, foldedId: string): boolean {
  return isPrefix ? foldedId.startsWith(folded) : foldedId === folded;
}

/** How much of the id a pattern has to name to fit; a whole id beats every prefix, -1 is no fit. */
function closestFit(projects: readonly string[], isFit: (pattern: Pattern) => boolean): number {
  const closeness = patternsOf(projects)
    .filter(isFit)
    .map(({ isPrefix, folded }) => (isPrefix ? folded.length : Number.POSITIVE_INFINITY));
  return Math.max(-1, ...closeness);
}

/** What tools that are not exact may take for the same: case, accents, width, what is not seen. */
function fold(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[\p{Mn}\p{Default_Ignorable_Code_Point}]/gu, '')
    .toLowerCase()
    .toUpperCase();
}
