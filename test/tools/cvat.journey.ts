import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { ConformanceHarness } from '../../src/adapters/conformance/harness.ts';
import { conformanceCases } from '../../src/adapters/conformance.ts';
import { createAdapter } from '../../src/adapters/load-adapters.ts';
import { type CvatSite, cvatStories } from '../support/cvat-stories.ts';
import { findCvat } from './cvat-server.ts';
import { examineTool } from './doctor.ts';
import { openLoop } from './loop.ts';

const site = findCvat();
const adapterOf = ({ settings }: CvatSite) => createAdapter('studio', 'cvat', settings);

/** The suite in one organization, with people that no other run knows. */
function toHarness(named: CvatSite): ConformanceHarness {
  const run = randomBytes(4).toString('hex');
  return {
    adapter: adapterOf(named),
    groups: [named.settings.organization],
    person: (index) => ({
      trainerId: `cmu-${run}-${index}`,
      email: `t${index}.${run}@opentrain.work`,
      displayName: null,
      memberId: null,
    }),
    hasEveryGroup: false,
    crowd: 101,
  };
}

describe('the adapter cvat, with a real CVAT', () => {
  it.for(cvatStories)('$name', async ({ run }, { skip }) => {
    if (site === null) skip();
    else await run(site);
  });

  it('is examined by doctor, which finds nothing that keeps it from working', async ({ skip }) => {
    if (site === null) return skip();
    const said = await examineTool({ adapter: 'cvat', ...site.settings });
    expect(said.filter((line) => line.startsWith('failure'))).toEqual([]);
  });

  it.for(conformanceCases)('$name', { timeout: 900_000 }, async (one, { skip }) => {
    if (site === null) return skip();
    const harness = toHarness(site);
    const reason = one.skip?.(harness) ?? null;
    if (reason === null) await one.run(harness);
    else skip(reason);
  });
});

describe('the whole way on a real CVAT', () => {
  it('leads from hire to end, as those who are hired see it', async ({ skip }) => {
    if (site === null) return skip();
    const loop = await openLoop(adapterOf(site), await site.makeProject());
    const [without] = await loop.hire('stranger');
    expect(await without.membership()).toMatchObject({ state: 'invited' });
    expect(await without.invitation()).toMatchObject({ kind: 'link' });
    await loop.end(without);
    expect(await without.membership()).toMatchObject({ state: 'removed' });
  });
});
