import type { Adapter, AdapterLink } from '../adapters/adapter.ts';
import type { LinkEvidence } from '../domain/evidence.ts';
import { provisioningOf } from '../domain/evidence-status.ts';
import type { Route, RoutedLink, RouteLink } from '../domain/install.ts';

/** The configuration of the walls around customers. */
export interface Walls {
  installs: RoutedInstalls;
  /** By tool. */
  adapters: ReadonlyMap<string, Adapter>;
}

export type RoutedInstalls = ReadonlyMap<string, RoutedInstall>;

interface RoutedInstall {
  tool: string;
  /** Project ids, or `prefix*`: the wall around a customer (docs/rules.md, Memberships). */
  projects: readonly string[];
}

/** Uses Maps, because install names and project ids come from outside. */
export function createLinkRouter(installs: RoutedInstalls, adapters: ReadonlyMap<string, Adapter>): RouteLink {
  const walls = { installs, adapters };
  return (link) => {
    const tool = installs.get(link.install)?.tool;
    const adapter = tool === undefined ? undefined : adapters.get(tool);
    if (tool === undefined || adapter === undefined) return undefined;
    if (crossingOf(walls, link) !== null) return undefined;
    const groupId = groupOf(adapter, link);
    return groupId === undefined ? undefined : { tool, groupId };
  };
}

/**
 * `unknown_mode`: the provisioning mode is unknown. `strange_id`: a tool could resolve the id to another project.
 * `anothers`: the project belongs to another install, perhaps in another case or Unicode form. `not_named`: it belongs
 * to no install. `no_group`: the adapter has no group for it.
 */
type Crossing = 'unknown_mode' | 'strange_id' | 'anothers' | 'not_named' | 'no_group';

/**
 * Why a link gives no access. Customers create links by themselves, and ids are untrusted text. Null if the link is
 * inside the wall of its install, or if nothing is known about it. Never throws, even if an adapter does: one link must
 * not hold up the others.
 */
export function crossingOf({ installs, adapters }: Walls, link: RoutedLink): Crossing | null {
  const { install, externalProjectId } = link;
  const own = installs.get(install);
  if (own === undefined || externalProjectId === null) return null;
  const adapter = adapters.get(own.tool);
  const unfit = judgeId(adapter, externalProjectId);
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

/** Like `crossingOf`, but a link of an unknown provisioning mode is outside too. */
export function outsideOf(walls: Walls, link: RoutedLink & Pick<LinkEvidence, 'provisioningMode'>): Crossing | null {
  const isUnknown = provisioningOf(link.provisioningMode) === 'unknown';
  return crossingOf(walls, link) ?? (isUnknown ? 'unknown_mode' : null);
}

/**
 * The installs whose trainers may be in a group: those that lead to it with one of the given projects, and those whose
 * every project leads to it.
 */
export function installsReaching(
  installs: RoutedInstalls,
  routeLink: RouteLink,
  { tool, groupId }: Route,
  projects: readonly Omit<RoutedLink, 'install'>[],
): ReadonlySet<string> {
  const leadsThere = (link: RoutedLink) => routeLink(link)?.groupId === groupId;
  const reaching = [...installs].filter(
    ([install, one]) =>
      one.tool === tool &&
      [...projects, ...one.projects.map(toExample)].some((project) => leadsThere({ install, ...project })),
  );
  return new Set(reaching.map(([install]) => install));
}

/** An example project of a pattern. If a tool has one group for all projects, any example leads there. */
function toExample(pattern: string): Omit<RoutedLink, 'install'> {
  return { externalProjectId: pattern.replace(/\*$/, '1'), externalProjectName: null };
}

/** An install that has `*` as its projects, in a tool where other installs list theirs. */
interface OpenWall {
  tool: string;
  install: string;
  /** The installs that list theirs. */
  others: string[];
}

/**
 * Such an install reaches every project that the others do not list yet, and every alias that the tool has for theirs.
 */
export function findOpenWalls(installs: RoutedInstalls): OpenWall[] {
  const byTool = Map.groupBy(installs, ([, { tool }]) => tool);
  return [...byTool].flatMap(([tool, sharing]) => {
    const [open, closed] = [true, false].map((isOpen) =>
      sharing.filter(([, { projects }]) => projects.includes('*') === isOpen).map(([name]) => name),
    );
    if (open === undefined || closed === undefined || closed.length === 0) return [];
    return open.map((install) => ({ tool, install, others: closed }));
  });
}

export function describeOpenWall({ tool, install, others }: OpenWall): string {
  const named = others.length === 1 ? `${others[0]} does` : `${others.join(', ')} do`;
  return `${install} may reach every project of ${tool} that ${named} not name ("*" in installs.${install}.projects)`;
}

/** The group of a link's project; undefined if the adapter gives none, or throws. */
export function groupOf(adapter: Adapter, link: RoutedLink): string | undefined {
  return askAdapter(link, (one) => adapter.groupFor(one));
}

/** The scope in which work on a link's project is counted; undefined if the adapter gives none, or throws. */
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

/** Adapters are foreign code, so the error is dropped: it may quote anything. */
function attempt(call: () => unknown): unknown {
  try {
    return call();
  } catch {
    return undefined;
  }
}

/** Only an adapter knows how its tool resolves an id. If it does not say, ambiguous ids are refused. */
function judgeId(adapter: Adapter | undefined, projectId: string): Crossing | null {
  if (adapter?.canonicalGroup === undefined) return isStrange(projectId) ? 'strange_id' : null;
  const form = attempt(() => adapter.canonicalGroup?.(projectId));
  if (typeof form !== 'string' && form !== null) return 'no_group';
  return form === projectId ? null : 'strange_id';
}

/** Also checks the normalised form, which some servers use: there `／` is a `/`. */
function isStrange(projectId: string): boolean {
  return (
    isRespeltNumber(projectId) ||
    [projectId, projectId.normalize('NFKC')].some(
      (id) => id.trim() !== id || /^\.{0,2}$/.test(id) || /[/\\%]|\p{C}/u.test(id),
    )
  );
}

/** A tool that parses numbers takes `01`, `+1`, `1.0`, `1_0` and digits of any script for a plain number. */
function isRespeltNumber(projectId: string): boolean {
  if (/^(?:0|-?[1-9]\d*)$/.test(projectId)) return false;
  const text = projectId.normalize('NFKC').replace(/^[+\-\u2212]/, '');
  if (/^(?:\p{N}+(?:[_,'\u066c]\p{N}+)*(?:[.\u066b]\p{N}*)?|[.\u066b]\p{N}+)$/u.test(text)) return true;
  // A hash may look like such a number, but like one that is too large for an id.
  return /^[\d.]+e[+-]?\d+$|^0[box][\da-f]+$/i.test(text) && Number.isSafeInteger(Number(text));
}

interface Pattern {
  /** The whole id, or its prefix. */
  text: string;
  isPrefix: boolean;
  folded: string;
}

/** Patterns are folded once, because every link is compared with the patterns of every install. */
const foldedPatterns = new WeakMap<readonly string[], Pattern[]>();

function patternsOf(projects: readonly string[]): Pattern[] {
  const patterns = foldedPatterns.get(projects) ?? projects.map(toPattern);
  foldedPatterns.set(projects, patterns);
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

/** How many characters of the id the best pattern names. A whole id beats every prefix, and -1 means no match. */
function closestFit(projects: readonly string[], isFit: (pattern: Pattern) => boolean): number {
  const closeness = patternsOf(projects)
    .filter(isFit)
    .map(({ isPrefix, folded }) => (isPrefix ? folded.length : Number.POSITIVE_INFINITY));
  return Math.max(-1, ...closeness);
}

/** Removes differences that inexact tools may ignore: case, accents, width, invisible characters. */
function fold(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[\p{Mn}\p{Default_Ignorable_Code_Point}]/gu, '')
    .toLowerCase()
    .toUpperCase();
}

type ExplainedLink = Pick<LinkEvidence, 'install' | 'externalProjectId'> &
  Partial<Pick<LinkEvidence, 'provisioningMode'>>;

/** Why a link is outside the wall of its install, and what to do about it. Pure. */
export function explainCrossing(
  crossing: Crossing,
  { install, externalProjectId: project, provisioningMode: mode = null }: ExplainedLink,
): { says: string; action: string } {
  const projects = `installs.${install}.projects`;
  const explanations: Record<Crossing, { says: string; action: string }> = {
    unknown_mode: {
      says: `Project ${project} is provisioned in mode ${mode}, which this version does not know`,
      action: 'Check whether a newer version knows it. Members stay, and no trainer is added',
    },
    not_named: {
      says: `Project ${project} is not one of the projects of ${install}`,
      action: `Add it to ${projects} if it belongs to this customer`,
    },
    anothers: {
      says: `Project ${project} is not one of the projects of ${install}: a pattern of another install matches it more closely, if only in another case or Unicode form`,
      action: `Name the whole id in ${projects} if it belongs to this customer`,
    },
    strange_id: {
      says: `Project ${project} is outside every wall: the tool may mistake its id for another project's (it contains "/", "\\" or "%", is "." or "..", has surrounding space or invisible characters, spells a number in another way, or is not written as the tool writes it)`,
      action: `Have ${install} link the project by its id as the tool writes it`,
    },
    no_group: {
      says: `The adapter has no group for project ${project}`,
      action: 'Fix the adapter, or have the customer link another project',
    },
  };
  return explanations[crossing];
}
