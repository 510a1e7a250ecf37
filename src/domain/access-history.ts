import type { Instant } from './evidence.ts';
import type { MembershipState, ReceiptOutcome, ToolOperation } from './membership.ts';

/** A time during which a trainer could get into a group, according to the receipts of a membership. */
export interface Stretch {
  /** When Gangway first saw that they could; null if no receipt says so. */
  from: Instant | null;
  /** When an earlier call without a clear answer may have let them in; null if there was none. */
  mayBeFrom: Instant | null;
  /** When Gangway saw that they no longer could; null while they can. */
  until: Instant | null;
  /** Whether Gangway added them; if not, they were in before. */
  isAdded: boolean;
  /** How late they were out, in milliseconds; null if they are in, or if nobody knows. */
  lockOutMs: number | null;
  /** The generation of the removal that ended it; null if none did. */
  removedBy: number | null;
  /** What nobody knows, in sentences. */
  doubts: string[];
}

export interface HistoryReceipt {
  outcome: ReceiptOutcome;
  operation: ToolOperation;
  generation: number;
  createdAt: Instant;
  metAfterMs: number | null;
}

/** The intent of a call. */
export interface HistoryCall {
  operation: ToolOperation;
  wasFound: boolean;
  createdAt: Instant;
}

const showsIn: ReadonlySet<ReceiptOutcome> = new Set([
  'added',
  'invited',
  'already_member',
  'updated',
  'released',
  'protected',
]);
const showsOut: ReadonlySet<ReceiptOutcome> = new Set(['removed', 'already_absent', 'kept_for_another']);

interface History {
  ended: Stretch[];
  open: Stretch | null;
  /** The calls that add since the last stretch. */
  tries: HistoryCall[];
}

/**
 * Pure.
 *
 * @param receipts of one membership, oldest first
 * @param calls of the same membership, oldest first
 * @param now the present state of the membership
 */
export function stretchesOf(
  receipts: readonly HistoryReceipt[],
  calls: readonly HistoryCall[],
  now: { state: MembershipState; updatedAt: Instant; lateUntil: Instant | null },
): Stretch[] {
  const history: History = { ended: [], open: null, tries: [] };
  // A call comes before its receipt, and may have the same time.
  const steps = [...calls, ...receipts].sort((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt));
  for (const step of steps) {
    if ('outcome' in step) addReceipt(history, step);
    else addCall(history, step);
  }
  const { ended, tries } = history;
  const [first] = tries;
  const isMaybeIn = history.open === null && first !== undefined && now.lateUntil !== null;
  const open = isMaybeIn ? { ...begin(history, null), mayBeFrom: first.createdAt } : history.open;
  if (open === null) return ended;
  if (now.state === 'removed')
    return [...ended, doubt({ ...open, until: now.updatedAt }, 'no receipt says when it ended')];
  return [...ended, now.state === 'released' ? doubt(open, 'Gangway no longer looks at this member') : open];
}

function addCall(history: History, call: HistoryCall): void {
  if (call.operation !== 'add' || call.wasFound) return;
  const { open } = history;
  if (open !== null)
    end(history, doubt({ ...open, until: call.createdAt }, 'Gangway did not end it; a look found them gone'));
  history.tries.push(call);
}

function addReceipt(history: History, receipt: HistoryReceipt): void {
  const { outcome, operation, generation, createdAt, metAfterMs } = receipt;
  if (showsIn.has(outcome)) {
    history.open ??= begin(history, receipt);
  } else if (outcome === 'unproven' && history.open !== null) {
    history.open = doubt(history.open, `the tool does not show whether the removal of ${createdAt} worked`);
  } else if (showsOut.has(outcome)) {
    // A removal shows that they were in, even if no receipt says since when.
    const open = history.open ?? (outcome === 'removed' ? begin(history, null) : null);
    if (open === null) {
      history.tries = [];
      return;
    }
    const isRemoval = operation === 'remove';
    const ended = { ...open, until: createdAt, ...(isRemoval && { lockOutMs: metAfterMs, removedBy: generation }) };
    end(history, outcome === 'kept_for_another' ? doubt(ended, 'another trainer still uses the account') : ended);
  }
}

function end(history: History, stretch: Stretch): void {
  history.ended.push(stretch);
  history.open = null;
  history.tries = [];
}

function begin({ tries }: History, receipt: HistoryReceipt | null): Stretch {
  const [first] = tries;
  // The receipt is that of the only call.
  const isClear = tries.length === 1 && receipt !== null && receipt.outcome !== 'already_member';
  return {
    from: receipt?.createdAt ?? null,
    mayBeFrom: first === undefined || isClear ? null : first.createdAt,
    until: null,
    isAdded: tries.length > 0,
    lockOutMs: null,
    removedBy: null,
    doubts: [],
  };
}

function doubt(stretch: Stretch, sentence: string): Stretch {
  return { ...stretch, doubts: [...stretch.doubts, sentence] };
}
