import type { Day, HeldReason, LedgerState } from '../../domain/usage.ts';
import { bigint, counter, flag, instant, integer, table, text } from '../columns.ts';

/**
 * `writing` does not count yet. `counted` counts, field by field, unless a later import has the same day. `undone` no
 * longer counts.
 */
export type ImportState = 'writing' | 'counted' | 'undone';

const counts = { seconds: bigint().nullable(), tasks: bigint().nullable(), labels: bigint().nullable() };

export const usage = {
  /** A scope in which a tool counts work, and how far it was read. */
  usageScope: table(['tool', 'scope'], {
    tool: text(),
    scope: text(),
    /** Why the last reading failed. */
    failure: text().nullable(),
    /** When the last reading began, if it and the one before were refused, so that an operator must act. */
    refusedAt: instant().nullable(),
    /** When the last finished reading and the last complete one began. */
    readBeganAt: instant().nullable(),
    completeBeganAt: instant().nullable(),
    /** Since when it cannot be read, although a live link needs it. */
    failingSince: instant().nullable(),
    /** Since when the tool says that there is no such scope. */
    goneSince: instant().nullable(),
    /** What the last reading lacked, and since when. */
    gap: text().nullable(),
    gapSince: instant().nullable(),
  }),

  /** The groups whose members work in a scope. */
  usageScopeGroup: table(['tool', 'groupId', 'scope'], {
    tool: text(),
    groupId: text(),
    scope: text(),
  }),

  /** The id of a person in the tool, and what is kept about them between readings of a scope. */
  usagePerson: table(['tool', 'scope', 'memberId'], {
    tool: text(),
    scope: text(),
    memberId: text(),
    trainerId: text(),
    /** The generation of their membership at the last reading. If it differs now, a removal has begun since. */
    generation: integer(),
    /**
     * Null for tools that count by day. Otherwise JSON of `Totals`; of a list of `Standing` for the account of no trainer,
     * which has an empty trainer id.
     */
    totals: text().nullable(),
    /** Since when the tool shows less of their work than was counted; null if it does not. */
    fallenSince: instant().nullable(),
  }),

  usageItem: table(['tool', 'scope', 'memberId', 'itemId'], {
    tool: text(),
    scope: text(),
    memberId: text(),
    itemId: text(),
    taskId: text(),
    /** False for a skipped task, which does not count. */
    isDone: flag(),
    /** When its labels and its task count. */
    doneDay: text<Day>(),
    doneAt: instant(),
    /** The last day on which it counts. */
    lastDay: text<Day>(),
    labels: bigint().nullable(),
    seconds: bigint().nullable(),
    /** JSON: the day, the instant and the seconds of each growth. */
    grown: text(),
  }),

  /** The work of one member in a scope on one day. */
  usageDay: table(['tool', 'scope', 'memberId', 'day'], {
    tool: text(),
    scope: text(),
    memberId: text(),
    day: text<Day>(),
    ...counts,
    trainerId: text(),
    /** Whether a removal has begun since. Then it may be raised and never lowered. */
    isFrozen: flag().optional(),
    /** Whether work from before that removal was deleted or moved since. */
    isTorn: flag().optional(),
    seenAt: instant(),
  }),

  /** The work that was reported for a trainer, by contract and day. */
  usageLedger: table(['install', 'contractId', 'trainerId', 'day'], {
    install: text(),
    contractId: text(),
    trainerId: text(),
    day: text<Day>(),
    /** What was answered. */
    ...counts,
    /** What was sent last, whatever its outcome. */
    triedSeconds: bigint().nullable(),
    triedTasks: bigint().nullable(),
    triedLabels: bigint().nullable(),
    state: text<LedgerState>(),
    /** Until when a request with an unknown outcome may still arrive. */
    doubtedUntil: instant('lease').nullable(),
    /** Since when a lower total waits for an operator's decision. */
    loweringHeldAt: instant().nullable(),
    /** When the marketplace last took a lower total, if it has not risen again since. */
    loweredAt: instant().nullable(),
    /** JSON of the greatest total that the marketplace took before. */
    loweredFrom: text().nullable(),
    sentAt: instant(),
    answeredAt: instant().nullable(),
    /** When it left the look-back and was sent for the last time. */
    closedAt: instant().nullable(),
    reportId: text(),
    /** Of the last request that was answered, also if it was refused. */
    requestId: text().nullable(),
    status: integer().nullable(),
    message: text().nullable(),
  }),

  /** What is due for a trainer, by contract and day, derived from readings, imports, contracts and decisions. */
  usageDue: table(['install', 'contractId', 'trainerId', 'day'], {
    install: text(),
    contractId: text(),
    trainerId: text(),
    day: text<Day>(),
    ...counts,
    timeZone: text(),
    /** Whether other work of the day is held, so that more may be due. */
    isPartial: flag(),
    /** Whether a run has to look at it: false once the marketplace has it for good, or an operator closed it. */
    isOpen: flag(),
  }),

  /** Work that is due to no contract until an operator decides, and work about which one has decided. */
  usageHeld: table(['id'], {
    /** A digest of the key. */
    id: text(),
    /** Identifies the work. */
    work: text(),
    /** Empty if it may belong to several installs, or to none. */
    install: text(),
    trainerId: text(),
    day: text<Day>(),
    source: text(),
    /** JSON of `WorkedOn`. */
    workedOn: text(),
    ...counts,
    reason: text<HeldReason>(),
    /** JSON of the keys of the contracts that it may belong to. */
    contracts: text(),
    state: text<'held' | 'discarded' | 'assigned'>(),
    /** Since when it is in this state. */
    since: instant(),
  }),

  /** A trainer whose due work must be computed again before anything is sent. */
  usageStale: table(['trainerId'], {
    trainerId: text(),
    /** The first day that may have changed; empty for all. */
    fromDay: text<Day>(),
    /** Whether days that were sent for the last time are sent once more if they change. */
    reopens: flag(),
  }),

  /** The decision of an operator about held work. */
  usageDecision: table(['id'], {
    id: counter(),
    /** As in `usageHeld`. */
    work: text(),
    trainerId: text(),
    /** Null if the work is not reported. */
    install: text().nullable(),
    contractId: text().nullable(),
    /** Why it was held. */
    reason: text<HeldReason>(),
    decidedAt: instant(),
  }),

  usageImport: table(['id'], {
    id: counter(),
    install: text(),
    state: text<ImportState>(),
    /** The name of the file without its folder. */
    fileName: text(),
    actor: text(),
    /** If it is still `writing` at this time, its process has given up or died, and it is cleared. */
    keptUntil: instant('lease'),
    /** When it began to count. Of two imports with the same day, the later counts. */
    countedAt: instant().nullable(),
    undoneAt: instant().nullable(),
    lines: integer().optional(),
    people: integer().nullable(),
    firstDay: text().nullable(),
    lastDay: text().nullable(),
  }),

  /** One line of a file: who, where and how much. */
  usageImportEntry: table(['importId', 'line'], {
    importId: bigint(),
    line: bigint(),
    day: text(),
    workedOnBy: text<'contract' | 'project'>(),
    workedOnId: text(),
    trainerId: text(),
    ...counts,
  }),
};
