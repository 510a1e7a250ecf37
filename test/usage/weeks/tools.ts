import type { Adapter, UsageNote, UsageObservation, UsageRequest } from '../../../src/adapters/adapter.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { dayOf, memberOf, type Project } from './facts.ts';

/** A piece of work in its tool. */
export interface Piece {
  id: string;
  trainer: string;
  task: string;
  doneAt: string;
  changedAt: string;
  seconds: number;
  labels: number;
}

/** What a reading was shown. */
export interface Shown {
  project: Project;
  request: UsageRequest;
  pieces: Piece[];
  /** The existing tasks. */
  tasks: Set<string>;
  days: { trainer: string; day: string; seconds: number }[];
  totals: { trainer: string; tasks: number }[];
}

export type Tools = ReturnType<typeof createTools>;

/** Three tools: one lists pieces with instants, one counts by day, one has running totals. */
export function createTools() {
  const tools = {
    pieces: new Map<string, Piece>(),
    tasks: new Set<string>(),
    /** Seconds by trainer and day. */
    days: new Map<string, Map<string, number>>(),
    totals: new Map<string, number>(),
    /** The existing accounts: tool and trainer. */
    accounts: new Set<string>(),
    /** The pieces that a reading had. */
    known: new Set<string>(),
    /** Whether the next readings break off. */
    isBroken: false,
    /** What readings were shown since the last clearing. */
    shown: [] as Shown[],
    adapters: new Map<string, Adapter>(),
  };
  tools.adapters.set('studio', createAdapter(tools, showPieces));
  tools.adapters.set('tally', createAdapter(tools, showDays));
  tools.adapters.set('meter', createAdapter(tools, showTotals));
  return tools;
}

type Show = (tools: Tools, shown: Shown) => Iterable<UsageObservation | UsageNote>;

function createAdapter(tools: Tools, show: Show): Adapter {
  return {
    capabilities: {
      removal: { effect: 'locks_out' },
      readding: 'yes',
      exclusive: 'membership',
      usage: { counts: ['seconds', 'tasks', 'labels'], outlivesRemoval: true },
    },
    check: async () => [],
    groupFor: ({ externalProjectId }) => externalProjectId,
    findMember: async (_group, { memberId }) => (memberId === null ? null : { id: memberId, email: null }),
    addMember: async (_group, { trainerId }) => ({ id: memberOf(trainerId), email: null }),
    removeMember: async () => undefined,
    usageScopeFor: ({ externalProjectId }) => externalProjectId,
    async *readUsage(scope, request) {
      const nothing = { pieces: [], tasks: new Set<string>(), days: [], totals: [] };
      const shown: Shown = { project: scope as Project, request, ...nothing };
      yield* show(tools, shown);
      if (tools.isBroken) throw new AppError('unavailable', 'The export broke off');
      tools.shown.push(shown);
    },
  };
}

function* showPieces({ pieces, tasks, known }: Tools, shown: Shown): ReturnType<Show> {
  const { changedSince, firstDay, timeZone } = shown.request;
  for (const taskId of tasks) {
    shown.tasks.add(taskId);
    yield { of: 'task', taskId };
  }
  for (const { id, trainer, task, ...counts } of pieces.values()) {
    const since = known.has(id) ? counts.changedAt : counts.doneAt;
    const isAsked = dayOf(since, timeZone) >= firstDay;
    if (!isAsked || (changedSince !== null && counts.changedAt < changedSince)) continue;
    shown.pieces.push({ id, trainer, task, ...counts });
    yield { memberId: memberOf(trainer), of: 'item', itemId: id, taskId: task, ...counts };
  }
}

function* showDays({ days }: Tools, shown: Shown): ReturnType<Show> {
  for (const [trainer, ofTrainer] of days) {
    for (const [day, seconds] of ofTrainer) {
      if (day < shown.request.firstDay) continue;
      shown.days.push({ trainer, day, seconds });
      yield { memberId: memberOf(trainer), of: 'day', day, seconds };
    }
  }
}

function* showTotals({ totals }: Tools, shown: Shown): ReturnType<Show> {
  for (const [trainer, tasks] of totals) {
    shown.totals.push({ trainer, tasks });
    yield { memberId: memberOf(trainer), of: 'total', tasks };
  }
}
