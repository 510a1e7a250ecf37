import type { Adapter, Member, Person } from '../../../src/adapters/adapter.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { createMemoryTool, type MemoryTool } from '../memory-tool.ts';
import type { ToolKind } from './alphabet.ts';
import { projects } from './market.ts';

/** The part of the tool that one story lives in, with a weather of its own. */
export interface StoryTool {
  inner: MemoryTool;
  weather: ToolWeather;
  /** Everyone who is in, as `project/trainer`. */
  roster(): ReadonlySet<string>;
  /** Whether another account than this one is in the group under the address. */
  hasAnother(group: string, memberId: string, email: string): boolean;
}

/** What becomes of the next calls that change something, and until when nothing works. */
export interface ToolWeather {
  downUntilMs: number;
  /** Of so many the answer is lost. */
  losesAnswers: number;
  /** Of so many the answer is lost, and they are done so many minutes later. */
  isLate: number;
  lateByMin: number;
  /** How often a look shows no member. */
  misses: number;
  /** Whether reads lag behind the next change. */
  lags: boolean;
}

interface Parts {
  kind: ToolKind;
  run: string;
  nowMs(): number;
  log(text: string): void;
  /** Something was not as it should be. */
  onTrouble(): void;
  afterMin(minutes: number, happen: () => void): void;
  /** Called when a late call is done at last. @param seat `project/trainer` */
  onArrived(seat: string, askedAtMs: number): void;
}

const changes: ReadonlySet<string> = new Set(['add', 'remove', 'update', 'end']);

export function createStoryTool({ kind, run, nowMs, log, onTrouble, afterMin, onArrived }: Parts): StoryTool {
  const inner = createMemoryTool('membership', kind);
  const weather: ToolWeather = { downUntilMs: 0, losesAnswers: 0, isLate: 0, lateByMin: 1, misses: 0, lags: false };
  let isMissing = false;

  const take = (trouble: 'losesAnswers' | 'isLate' | 'misses'): boolean => {
    if (weather[trouble] === 0) return false;
    weather[trouble] -= 1;
    onTrouble();
    return true;
  };

  inner.before = (call, subject) => {
    if (nowMs() < weather.downUntilMs) {
      onTrouble();
      throw new AppError('unavailable', 'The tool is down');
    }
    if (!changes.has(call)) {
      isMissing = take('misses');
      if (isMissing) log(`tool: ${call} ${subject} shows no member`);
      return;
    }
    if (weather.lags) {
      weather.lags = false;
      onTrouble();
      inner.lag();
      log('tool: reads lag behind for a minute');
      afterMin(1, () => inner.catchUp());
    }
  };
  inner.isMissed = () => isMissing;
  inner.isLate = (call, subject) => {
    if (!changes.has(call) || !take('isLate')) return false;
    log(`tool: ${call} ${subject} is not answered, and done in ${weather.lateByMin} minutes`);
    const askedAtMs = nowMs();
    afterMin(weather.lateByMin, () => {
      inner.arrive();
      onArrived(toTrainer(subject.replace(/@.*/, '')), askedAtMs);
    });
    return true;
  };
  inner.after = (call, subject) => {
    isMissing = false;
    if (!changes.has(call)) return;
    log(`tool: ${call} ${subject}`);
    if (!take('losesAnswers')) return;
    log('tool: its answer is lost');
    throw new AppError('unavailable', 'The answer was lost');
  };

  function roster(): ReadonlySet<string> {
    return new Set(
      projects.flatMap((project) =>
        inner.roster(project + run).map((member) => `${project}${run}/${trainerOf(member)}`),
      ),
    );
  }

  const hasAnother = (group: string, memberId: string, email: string) =>
    inner.roster(group).some((member) => member.id !== memberId && member.email === email);
  return { inner, weather, roster, hasAnother };
}

/** By their address, of which each trainer has had one or several. */
function trainerOf({ id, email }: Member): string {
  const [local = id] = (email ?? id).split('@');
  return toTrainer(local);
}

function toTrainer(local: string): string {
  return local.replace(/\b(t\d+)\.\d+-/, '$1-');
}

/** By the end of their names one story's groups and people are distinguished from another's. */
export function runOf(id: string): string {
  return id.slice(id.lastIndexOf('-'));
}

export interface ToolWatch {
  /** Called when a person was looked for, and the tool has answered. */
  onLook(group: string, trainer: string): void;
  onAdd(group: string, trainer: string): void;
  onRemove(group: string, trainer: string, memberId: string): void;
}

export interface Fleet {
  kind: ToolKind;
  find(run: string): { tool: StoryTool; watch: ToolWatch };
  /** Whether another server answers, in which no person of any story is. */
  isStrange(): boolean;
  identifies: boolean;
}

/** One adapter for all stories that live together. */
export function createFleetAdapter({ kind, find, isStrange, identifies }: Fleet): Adapter {
  const model = createMemoryTool('membership', kind).adapter;
  const stranger = createMemoryTool('membership', kind);
  const at = (id: string) => {
    const { tool, watch } = find(runOf(id));
    return isStrange() ? { tool: { inner: stranger }, watch } : { tool, watch };
  };
  const adapterAt = (id: string) => at(id).tool.inner.adapter;
  return {
    capabilities: model.capabilities,
    check: async () => [],
    ...(identifies && { identify: async () => (isStrange() ? 'another' : 'ours') }),
    groupFor: ({ externalProjectId }) => externalProjectId,
    async findMember(group, person, signal) {
      const found = await adapterAt(group).findMember(group, person, signal);
      if (!isStrange()) at(group).watch.onLook(group, person.trainerId);
      return found;
    },
    addMember(group, person, signal) {
      at(group).watch.onAdd(group, person.trainerId);
      return adapterAt(group).addMember(group, person, signal);
    },
    removeMember(group, member, signal) {
      at(group).watch.onRemove(group, trainerOf(member), member.id);
      return adapterAt(group).removeMember(group, member, signal);
    },
    ...(model.findAccount && {
      findAccount: async (person: Person, signal: AbortSignal) =>
        (await adapterAt(person.trainerId).findAccount?.(person, signal)) ?? null,
    }),
    ...(model.updateEmail && {
      updateEmail: async (group: string, member: Member, email: string, signal: AbortSignal) =>
        await adapterAt(group).updateEmail?.(group, member, email, signal),
    }),
    ...(model.listMembers && {
      listMembers: (group: string, signal: AbortSignal) => adapterAt(group).listMembers?.(group, signal) ?? noMember(),
    }),
  };
}

async function* noMember(): AsyncGenerator<Member> {
  // Every story has the same kind of tool.
}
