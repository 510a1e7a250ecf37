import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { sqlite } from '../support/databases.ts';
import { type EmployerJourney, openEmployerJourney, readEveryMs } from '../support/employer-journey.ts';
import { addProject, projectsOf } from '../support/label-studio/at-work.ts';
import type { BrowserSession } from '../support/label-studio/label-studio-client.ts';
import { type LabelStudioServer, openLabelStudio } from './label-studio-server.ts';
import { type Hired, toHired } from './loop.ts';

/** An employer with an account of their own, and a Label Studio that really runs: what trainers can do in it. */

const server = await openLabelStudio();
afterAll(() => server?.stop());

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const ownPassword = 'Lantern-44-heron';

describe.skipIf(server === null)(`an employer's own account with Label Studio ${server?.version}`, () => {
  const site = server as LabelStudioServer;

  async function open(onboarding: 'sign_up' | 'invite_link', isReachable: boolean) {
    const [signs, lamps] = [await addProject(site, 'Street signs', 1), await addProject(site, 'Street lamps', 1)];
    const token = await site.personalToken();
    const settings = { adapter: 'label-studio', url: site.url, token, onboarding, offboarding: 'delete_user' };
    const projects = [String(signs.id), String(lamps.id)] as const;
    // By default the brake would hold the second end of two, as it counts an end that is read.
    const removals = { max: 25, maxFraction: 1 };
    const journey = await openEmployerJourney(sqlite, { isReachable, removals, tool: { settings, projects } });
    return { journey, hire: createHire(journey) };
  }

  /** With what the operator was given for them. */
  async function signIn(hired: Hired): Promise<BrowserSession | null> {
    const invitation = await hired.invitation();
    if (invitation?.kind === 'link') return await site.signUp(invitation.url, hired.email, ownPassword);
    return await site.signIn(hired.email, passwordOf(invitation));
  }

  it('lets trainers in and locks them out again, with nothing that reaches the bridge', async () => {
    const { journey, hire } = await open('sign_up', false);
    const { sandbox, signs, lamps, pass, askForEnd } = journey;
    const [ada, ben] = [hire('ada', signs.id), hire('ben', lamps.id)];
    await pass(readEveryMs);
    const [adaEntered, benEntered] = [await signIn(ada), await signIn(ben)];
    if (adaEntered === null || benEntered === null) throw new Error('the form refuses them');
    expect(await projectsOf(adaEntered)).toContain(Number(signs.project));
    expect(await projectsOf(benEntered)).toContain(Number(lamps.project));
    const passwords = [passwordOf(await ada.invitation()), passwordOf(await ben.invitation())] as const;

    // Only then the brake counts them as its people.
    await pass(hourMs);
    sandbox.endContract(ada.contractId);
    await pass(readEveryMs);
    expect(await site.signIn(ada.email, passwords[0])).toBeNull();
    expect((await adaEntered.call('GET', '/api/projects/')).status).toBe(401);
    const approval = await askForEnd(ben.contractId);
    await pass(readEveryMs);
    expect(await projectsOf(benEntered)).toContain(Number(lamps.project));
    sandbox.resolveApproval(approval, 'confirmed');
    await pass(readEveryMs);
    expect(await site.signIn(ben.email, passwords[1])).toBeNull();
    expect((await benEntered.call('GET', '/api/projects/')).status).toBe(401);
    expect([sandbox.snapshot().webhookEndpoints, sandbox.listDeliveries()]).toEqual([[], []]);
  });

  it.each(['sign_up', 'invite_link'] as const)(
    'lets them in and out as its webhook tells, at once: %s',
    async (how) => {
      const { journey, hire } = await open(how, true);
      const { sandbox, lamps, quiet, clock, askForEnd } = journey;
      const ada = hire('ada', lamps.id);
      await quiet();
      const entered = await signIn(ada);
      expect(entered && (await projectsOf(entered))).toContain(Number(lamps.project));
      const password = how === 'invite_link' ? ownPassword : passwordOf(await ada.invitation());
      const approval = await askForEnd(ada.contractId);
      await quiet();
      clock.advance(1000);
      sandbox.resolveApproval(approval, 'confirmed');
      await quiet();
      expect(await site.signIn(ada.email, password)).toBeNull();
      expect((await entered?.call('GET', '/api/projects/'))?.status).toBe(401);
      const delivered = sandbox.listDeliveries().map(({ type, status }) => `${type} ${status}`);
      expect(delivered).toEqual([
        'contract.created DELIVERED',
        'milestone.status_changed DELIVERED',
        'approval.confirmed DELIVERED',
      ]);
    },
  );
});

/** Tools outlive a test, and so do accounts. */
function createHire({ sandbox, storage }: EmployerJourney) {
  const run = randomBytes(4).toString('hex');
  return (name: string, jobId: string): Hired => {
    const [opentrainUserId, workEmail] = [`usr-${name}-${run}`, `${name}.${run}@opentrain.work`];
    const { contractId } = sandbox.hire({ jobId, trainers: [{ opentrainUserId, workEmail }] });
    return toHired({ storage }, opentrainUserId, workEmail, contractId);
  };
}

function passwordOf(invitation: Awaited<ReturnType<Hired['invitation']>>): string {
  if (invitation?.kind !== 'password') throw new Error('there is no password');
  return invitation.password;
}
