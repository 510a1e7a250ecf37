import { describe, expect, it } from 'vitest';
import { type HistoryCall, type HistoryReceipt, stretchesOf } from '../../src/domain/access-history.ts';
import type { ReceiptOutcome, ToolOperation } from '../../src/domain/membership.ts';

const at = (minute: number) => `2026-03-15T12:${String(minute).padStart(2, '0')}:00.000Z`;
const call = (minute: number, operation: ToolOperation = 'add', wasFound = false): HistoryCall => ({
  operation,
  wasFound,
  createdAt: at(minute),
});
const receipt = (minute: number, outcome: ReceiptOutcome, metAfterMs: number | null = null): HistoryReceipt => ({
  outcome,
  operation: /^(removed|already_absent|kept_for_another|unproven)$/.test(outcome) ? 'remove' : 'add',
  generation: 2,
  createdAt: at(minute),
  metAfterMs,
});
const isIn = { state: 'active', updatedAt: at(59), lateUntil: null } as const;
const isOut = { ...isIn, state: 'removed' } as const;
const unclear = { ...isIn, state: 'failed', lateUntil: at(30) } as const;

describe('the history of a membership', () => {
  it('is from the receipt that shows them in to the one that shows them out', () => {
    const calls = [call(1), call(5, 'remove', true)];
    expect(stretchesOf([receipt(1, 'added'), receipt(5, 'removed', 3000)], calls, isOut)).toEqual([
      {
        from: at(1),
        mayBeFrom: null,
        until: at(5),
        isAdded: true,
        lockOutMs: 3000,
        removedBy: 2,
        doubts: [],
      },
    ]);
  });

  it.each([
    ['were in before Gangway', [receipt(1, 'already_member')], [], isIn, { from: at(1), isAdded: false }],
    ['are in', [receipt(1, 'added')], [call(1)], isIn, { until: null, doubts: [] }],
    [
      'were let in by the second of two calls',
      [receipt(2, 'failed'), receipt(4, 'added')],
      [call(1), call(3)],
      isIn,
      { from: at(4), mayBeFrom: at(1) },
    ],
    [
      'were let in by a call whose answer was lost',
      [receipt(4, 'already_member')],
      [call(1)],
      isIn,
      { from: at(4), mayBeFrom: at(1), isAdded: true },
    ],
    [
      'may be in by a call without an answer',
      [receipt(1, 'failed')],
      [call(1)],
      unclear,
      { from: null, mayBeFrom: at(1), until: null },
    ],
    ['are taken out though no receipt shows them in', [receipt(5, 'removed')], [], isOut, { from: null, until: at(5) }],
    [
      'share their account with another trainer',
      [receipt(1, 'added'), receipt(5, 'kept_for_another')],
      [call(1)],
      isOut,
      { until: at(5), doubts: ['another trainer still uses the account'] },
    ],
    [
      'are removed by a call that the tool does not confirm',
      [receipt(1, 'added'), receipt(5, 'unproven')],
      [call(1)],
      { ...isIn, state: 'removing' } as const,
      { until: null, doubts: [`the tool does not show whether the removal of ${at(5)} worked`] },
    ],
    [
      'stay when Gangway lets go of them',
      [receipt(1, 'already_member')],
      [],
      { ...isIn, state: 'released' } as const,
      { until: null, doubts: ['Gangway no longer looks at this member'] },
    ],
    [
      'are out without a receipt',
      [receipt(1, 'added')],
      [call(1)],
      isOut,
      { until: at(59), doubts: ['no receipt says when it ended'] },
    ],
  ] as const)('says so if they %s', (_, receipts, calls, now, stretch) => {
    expect(stretchesOf(receipts, calls, now)).toEqual([expect.objectContaining(stretch)]);
  });

  it('has two stretches for a member whom somebody removed and Gangway added again', () => {
    const receipts = [receipt(1, 'added'), receipt(9, 'added')];
    const [first, second] = stretchesOf(receipts, [call(1), call(9)], isIn);
    expect(first).toMatchObject({
      from: at(1),
      until: at(9),
      doubts: ['Gangway did not end it; a look found them gone'],
    });
    expect(second).toMatchObject({ from: at(9), mayBeFrom: null, until: null });
  });

  it('is empty for somebody who was never in', () => {
    expect(stretchesOf([receipt(1, 'failed'), receipt(2, 'already_absent')], [call(1)], isOut)).toEqual([]);
  });
});
