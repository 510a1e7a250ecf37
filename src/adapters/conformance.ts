import assert from 'node:assert/strict';
import type { Adapter } from './adapter.ts';
import { guardAdapter } from './adapter-schema.ts';
import { faultCases } from './conformance/fault-cases.ts';
import { type ConformanceCase, type ConformanceHarness, NotAccepted, toCase } from './conformance/harness.ts';
import { listCases, membershipCases } from './conformance/membership-cases.ts';
import { accountCases, strangerCases } from './conformance/person-cases.ts';
import { createKit } from './create-kit.ts';
import type { CreateAdapter } from './kit.ts';

export type { ConformanceHarness };

/**
 * What every adapter must do, as tests without a test framework. Each case uses people of its own and undoes its changes,
 * so that the suite can be run against a tool that is in use.
 */
export const conformanceCases: readonly ConformanceCase[] = [
  toCase('says what it can do', async ({ adapter: { capabilities } }) => {
    const { removal, readding, exclusive } = capabilities;
    if (removal.effect === 'membership_only') assert.notEqual(removal.reason.trim(), '');
    else assert.equal(removal.effect, 'locks_out');
    assert.ok(['yes', 'new_account', 'no'].includes(readding));
    assert.ok(['membership', 'group', 'tool'].includes(exclusive));
  }),
  {
    ...toCase('checks its tool', async ({ adapter, signal }) => {
      for (const { says, action } of await adapter.check(signal())) {
        assert.notEqual(says.trim(), '');
        assert.notEqual(action.trim(), '');
      }
    }),
    isNeeded: true,
  },
  toCase(
    'identifies its installation the same way every time',
    async ({ adapter, signal }) => {
      const [first, again] = [await adapter.identify?.(signal()), await adapter.identify?.(signal())];
      assert.equal(again, first);
      if (first !== null) assert.notEqual(first?.trim(), '');
    },
    ({ adapter }) => adapter.identify === undefined && 'the adapter does not identify the installation',
  ),
  ...membershipCases,
  ...listCases,
  ...accountCases,
  ...strangerCases,
  ...faultCases,
];

/** An adapter as Gangway runs it. @param create its default export @param settings those under `tools.<name>` */
export async function openAdapter(create: CreateAdapter, settings: Record<string, unknown>): Promise<Adapter> {
  return guardAdapter(await create(createKit('test', settings)));
}

export interface ConformanceResult {
  name: string;
  outcome: 'ok' | 'failed' | 'skipped';
  /** Why the case was skipped, or what failed. It may quote the tool, so mask it before you show it. */
  reason?: string;
}

/** Runs the cases one after the other, even if one fails, unless the others need that one. */
export async function* runConformance(
  harness: ConformanceHarness,
  cases = conformanceCases,
): AsyncGenerator<ConformanceResult> {
  for (const one of cases) {
    const result = await runCase(harness, one);
    yield result;
    if (result.outcome === 'failed' && one.isNeeded) return;
  }
}

async function runCase(harness: ConformanceHarness, { name, skip, run }: ConformanceCase): Promise<ConformanceResult> {
  const reason = skip?.(harness) ?? null;
  if (reason !== null) return { name, outcome: 'skipped', reason };
  try {
    await run(harness);
    return { name, outcome: 'ok' };
  } catch (error) {
    const outcome = error instanceof NotAccepted ? 'skipped' : 'failed';
    return { name, outcome, reason: error instanceof Error ? error.message : 'failed' };
  }
}
