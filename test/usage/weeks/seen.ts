import { type Seen, toWorkName } from './attribution.ts';
import { type ContractFact, type Counts, install, mapCounts, names, nothing, type Project, toolOf } from './facts.ts';
import { type KnownWork, type Memory, momentsOf, workOfKey } from './memory.ts';

/** What tools and imports have, day by day. */

export interface ImportFact {
  id: number;
  isUndone: boolean;
  lines: ImportLine[];
}

export interface ImportLine {
  by: 'contract' | 'project';
  id: string;
  trainer: string;
  day: string;
  counts: Counts;
}

export function contractsOf(contracts: readonly ContractFact[], project: Project, trainer: string): ContractFact[] {
  return contracts.filter((one) => one.project === project && one.trainer === trainer);
}

export function seenInTools(memory: Memory, contracts: readonly ContractFact[]): Seen[] {
  return [...memory].flatMap(([key, work]) => {
    const { project, trainer } = workOfKey(key);
    return seenOfWork(work, project, trainer, contractsOf(contracts, project, trainer));
  });
}

function seenOfWork(
  { days, totals, pieces }: KnownWork,
  project: Project,
  trainer: string,
  contracts: ContractFact[],
): Seen[] {
  const nameOf = (day: string, isFirst?: boolean) =>
    toWorkName(`tool:${toolOf[project]}`, 'scope', `${toolOf[project]} ${project}`, trainer, day, isFirst);
  const usual = { kind: 'tool' as const, trainer, contracts, isTakenBack: false, moments: null, isTorn: false };
  const seen: Seen[] = [...days].map(([day, { counts, isTorn }]) => {
    const moments = project === 'pieces' ? momentsOf(pieces, day) : null;
    return { ...usual, name: nameOf(day), day, counts, moments, isTorn, isFirstTotal: false };
  });
  const first = totals?.first;
  if (!first) return seen;
  const { day, tasks } = first;
  return [...seen, { ...usual, name: nameOf(day, true), day, counts: { ...nothing, tasks }, isFirstTotal: true }];
}

type LineOf = ImportLine & { importId: number; isUndone: boolean };

export function seenInImports(imports: readonly ImportFact[], contracts: readonly ContractFact[]): Seen[] {
  const lines = imports.flatMap(({ id: importId, isUndone, lines: all }): LineOf[] =>
    all.map((line) => ({ ...line, importId, isUndone })),
  );
  const byWork = Map.groupBy(lines, ({ by, id, trainer, day }) => [by, id, trainer, day].join(' '));
  return [...byWork.values()].flatMap((ofWork) => layer(ofWork.toReversed(), contracts));
}

/** Each count is that of the latest import with it. Counts of undone imports only are withdrawn. */
function layer(latestFirst: readonly LineOf[], contracts: readonly ContractFact[]): Seen[] {
  const [counting, undone] = [latestFirst.filter((one) => !one.isUndone), latestFirst.filter((one) => one.isUndone)];
  const counts = mapCounts((name) => counting.find((one) => one.counts[name] !== null)?.counts[name] ?? null);
  const back = mapCounts((name) => {
    return counts[name] === null && undone.some((one) => one.counts[name] !== null) ? 0 : null;
  });
  const decidable = mapCounts((name) => counts[name] ?? back[name]);
  return [...toSeen(counting, decidable, contracts, false), ...toSeen(undone, back, contracts, true)];
}

/** From the latest line with one of the counts. */
function toSeen(
  latestFirst: readonly LineOf[],
  counts: Counts,
  all: readonly ContractFact[],
  isTakenBack: boolean,
): Seen[] {
  const line = latestFirst.find((one) => names.some((name) => counts[name] !== null && one.counts[name] !== null));
  if (line === undefined) return [];
  const { by, id, trainer, day, importId } = line;
  const contracts = by === 'project' ? contractsOf(all, id as Project, trainer) : all.filter((one) => one.id === id);
  const name = toWorkName(`import:${importId}`, by, `${install} ${id}`, trainer, day);
  const unsaid = { moments: null, isTorn: false, isFirstTotal: false };
  return [{ name, kind: `import by ${by}`, trainer, day, counts, contracts, isTakenBack, ...unsaid }];
}
