import { afterAll, describe, expect, it } from 'vitest';
import { runConformance } from '../../src/adapters/conformance.ts';
import { describeLabelStudio } from '../support/label-studio/claims.ts';
import { toHarness } from '../support/label-studio/label-studio-harness.ts';
import { examineTool } from './doctor.ts';
import { type LabelStudioServer, openLabelStudio } from './label-studio-server.ts';

/** The suite of all adapters, and all that is claimed of Label Studio, on a real one. */

let server = await openLabelStudio();
afterAll(() => server?.stop());

describe.skipIf(server === null)(`Label Studio ${server?.version}`, () => {
  const site = server as LabelStudioServer;

  describeLabelStudio('real', async () => site);

  it.each(['sign_up', 'invite_link'] as const)('passes the suite by %s', async (onboarding) => {
    const harness = toHarness(site, onboarding, { token: await site.personalToken() });
    const results = await Array.fromAsync(runConformance(harness));
    expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
    expect(results.filter(({ outcome }) => outcome === 'ok').length).toBeGreaterThan(15);
    const left = await Array.fromAsync(harness.adapter.listMembers?.('1', AbortSignal.timeout(30_000)) ?? []);
    expect(left.map(({ email }) => email)).toEqual([site.owner.email]);
  });
});

describe.skipIf(server === null)('Label Studio as it comes', () => {
  it('lets all visitors in, which `gangway doctor` says', async () => {
    const site = await (server as LabelStudioServer).restart({ isSignUpOpen: true });
    server = site;
    const { url, owner } = site;
    const settings = { adapter: 'label-studio', url, offboarding: 'delete_user' };
    expect(await examineTool({ ...settings, token: owner.legacyToken })).toEqual([
      'ok Reachable, settings valid',
      'failure Anyone can sign up, including people who were removed → Start Label Studio with DISABLE_SIGNUP_WITHOUT_LINK=true',
    ]);
    const stranger = await site.signUp(`${site.url}/user/signup/`, 'eve@example.com', 'Eve-word-9');
    expect(stranger).not.toBeNull();
  });
});
