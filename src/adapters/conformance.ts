import assert from 'node:assert/strict';
import { accountCases } from './conformance/account-cases.ts';
import { addressCases } from './conformance/address-cases.ts';
import { faultCases } from './conformance/fault-cases.ts';
import { type ConformanceCase, type ConformanceHarness, NotAccepted, signalOf } from './conformance/harness.ts';
import { listCases } from './conformance/list-cases.ts';
import { membershipCases } from './conformance/membership-cases.ts';
import { strangerCases } from './conformance/stranger-cases.ts';

/**
 * The port's contract in executable form: what every adapter must do, whatever its tool. The cases
 * know no test framework, take people of their own each, and put back what they changed, so that
 * they may be run against a tool that others are using.
 */
export const conformanceCases: readonly ConformanceCase[] = [
  { name: 'says what it can do', run: declaresItself },
  { name: 'checks its tool', run: checks },
  {
    name: 'tells which installation it is, always alike',
    skip: ({ adapter }) => (adapter.identify === undefined ? 'the tool does not tell' : null),
    run: identifies,
  },
  ...membershipCases,
  ...listCases,
  ...addressCases,
  ...accountCases,
  ...strangerCases,
  ...faultCases,
];

export interface ConformanceResult {
  name: string;
  outcome: 'ok' | 'failed' | 'skipped';
  /** Why it was skipped, or what failed. May quote what the tool said: mask it before showing it. */
  reason?: string;
}

/** Runs one case after the other, as no tool minds. A case that fails does not stop the others. */
export async function* runConformance(harness: ConformanceHarness): AsyncGenerator<ConformanceResult> {
  for (const { name, skip, run } of conformanceCases) {
    const reason = skip?.(harness) ?? null;
    if (reason !== null) {
      yield { name, outcome: 'skipped', reason };
      continue;
    }
    try {
      await run(harness);
      yield { name, outcome: 'ok' };
    } catch (error) {
      const outcome = error instanceof NotAccepted ? 'skipped' : 'failed';
      yield { name, outcome, reason: error instanceof Error ? error.message : 'failed' };
    }
  }
}

async function declaresItself({ adapter: { capabilities } }: ConformanceHarness): Promise<void> {
  const { removal, readding, exclusive } = capabilities;
  if (removal.effect === 'membership_only') assert.notEqual(removal.reason.trim(), '');
  else assert.equal(removal.effect, 'locks_out');
  assert.ok(['yes', 'new_account', 'no'].includes(readding));
  assert.ok(['membership', 'group', 'tool'].includes(exclusive));
}

async function checks(harness: ConformanceHarness): Promise<void> {
  const findings = await harness.adapter.check(signalOf(harness));
  for (const { says, action } of findings) {
    assert.notEqual(says.trim(), '');
    assert.notEqual(action.trim(), '');
  }
}

async function identifies(harness: ConformanceHarness): Promise<void> {
  const { adapter } = harness;
  const [first, again] = [await adapter.identify?.(signalOf(harness)), await adapter.identify?.(signalOf(harness))];
  assert.equal(again, first);
  if (first !== null) assert.notEqual(first?.trim(), '');
}
