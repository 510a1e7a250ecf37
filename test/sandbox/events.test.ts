import { describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { clock, openReceiver, openWorld, type Receiver, request, today, type World } from './sandbox-harness.ts';

interface Watching extends World {
  receiver: Receiver;
  /** Everything that arrived since the last call. */
  // biome-ignore lint/suspicious/noExplicitAny: as in Answer
  heard(): Promise<any[]>;
}

describe('events', () => {
  it('are sent once per link of the job when a contract starts and ends', async () => {
    const world = await openWatching();
    const links = [await world.link('a'), await world.link('b')];
    await world.link('without a job', null);
    await world.heard();

    const { contractId, trainers } = world.sandbox.hire({ jobId: world.jobId, trainers: [{}, {}] });
    const started = await world.heard();
    expect(started.map(({ data }) => data.projectLink.id)).toEqual(links);
    const { body } = await world.api('GET', `/project-links/${links[0]}`);
    expect(started[0]).toEqual({
      id: expect.stringMatching(/^\d+$/),
      type: 'contract.started',
      apiVersion: 'v1',
      createdAt: clock.now().toISOString(),
      resourceId: contractId,
      jobId: world.jobId,
      data: {
        contract: {
          id: contractId,
          status: 'active',
          jobId: world.jobId,
          title: expect.any(String),
          startDate: clock.now().toISOString(),
          endDate: null,
          createdAt: clock.now().toISOString(),
        },
        freelancer: trainers[0],
        projectLink: body.projectLink,
      },
    });

    world.sandbox.endContract(contractId, { endDate: '2026-03-16T00:00:00.000Z' });
    const ended = await world.heard();
    expect(ended.map(({ data }) => data.projectLink.id)).toEqual(links);
    expect(ended[0]).toMatchObject({
      type: 'contract.ended',
      resourceId: contractId,
      data: { contract: { status: 'ended', endDate: '2026-03-16T00:00:00.000Z' } },
    });
  });

  it('may report an end by mistake, while the API lists the contract as active', async () => {
    const world = await openWatching();
    await world.link('a');
    const { contractId } = world.sandbox.hire({ jobId: world.jobId });
    await world.heard();
    world.sandbox.raiseMistakenEnd(contractId);
    expect(await world.heard()).toMatchObject([
      {
        type: 'contract.ended',
        resourceId: contractId,
        data: { contract: { status: 'ended', endDate: clock.now().toISOString() } },
      },
    ]);
    const { contracts } = (await world.api('GET', '/contracts')).body;
    expect(contracts).toMatchObject([{ id: contractId, status: 'active', endDate: null }]);
    expect(world.sandbox.snapshot().contracts).toMatchObject([{ status: 'active' }]);
    const path = `${world.url}/sandbox/contracts/${contractId}/mistaken-end`;
    expect((await request('POST', path)).body).toEqual({ contractId, status: 'active' });
    expect(await world.heard()).toMatchObject([{ type: 'contract.ended' }]);
  });

  it('contain the last state of a link', async () => {
    const world = await openWatching();
    const id = await world.link('a');
    const { projectLink } = (await world.api('GET', `/project-links/${id}`)).body;
    await world.api('DELETE', `/project-links/${id}`);
    const record = { resourceId: id, jobId: world.jobId, data: { projectLink } };
    expect(await world.heard()).toMatchObject([
      { type: 'project_link.created', ...record },
      { type: 'project_link.removed', ...record },
    ]);
  });

  it('are not sent for a contract whose job is linked only later', async () => {
    const world = await openWatching();
    world.sandbox.hire({ jobId: world.jobId });
    await world.link('late');
    expect((await world.heard()).map(({ type }) => type)).toEqual(['project_link.created']);
  });

  it('report a revoked install, which gets no event after that', async () => {
    const world = await openWatching();
    await world.link('a');
    await world.heard();
    const { contractId } = world.sandbox.hire({ jobId: world.jobId });
    world.sandbox.revokeInstall(world.installId);
    world.sandbox.endContract(contractId);
    expect(await world.heard()).toMatchObject([
      { type: 'contract.started' },
      {
        type: 'install.revoked',
        resourceId: world.installId,
        jobId: null,
        data: { install: { id: world.installId, status: 'REVOKED' } },
      },
    ]);
  });

  it('report funding once per install, although it has several links', async () => {
    const world = await openWatching();
    await world.link('a');
    await world.link('b');
    const { contractId } = world.sandbox.hire({ jobId: world.jobId });
    await world.heard();
    const { milestone } = world.sandbox.fundMilestone(contractId, { volume: 2, amountUsd: 9 });
    expect(await world.heard()).toMatchObject([
      {
        type: 'milestone.funded',
        resourceId: milestone.id,
        jobId: world.jobId,
        data: { contractId, milestone, budget: { fundedVolume: 2, state: 'OK' } },
      },
    ]);
  });

  it('warn once for each threshold that usage passes on the way up, and again after funding', async () => {
    const world = await openWatching();
    await world.link('a');
    const { contractId } = world.sandbox.hire({ jobId: world.jobId });
    world.sandbox.fundMilestone(contractId, { volume: 10 });
    await world.heard();

    const low = 'milestone.budget_low';
    const depleted = 'milestone.budget_depleted';
    const steps: ([hours: number, warnings: string[]] | { volume: number })[] = [
      [7.9, []],
      [8, [low]],
      [9, []],
      [7, []],
      [8.5, []],
      [10, [depleted]],
      [11, []],
      [5, []],
      [12, []],
      { volume: 10 },
      [15, []],
      [20, [low, depleted]],
      [21, []],
      // Usage that is still above the threshold after the funding does not cross it again.
      { volume: 1 },
      [22, []],
    ];
    for (const step of steps) {
      if ('volume' in step) {
        world.sandbox.fundMilestone(contractId, step);
        expect(await world.heard()).toMatchObject([{ type: 'milestone.funded' }]);
        continue;
      }
      const [hours, warnings] = step;
      const budget = await reportHours(world, contractId, hours);
      const heard = await world.heard();
      expect([hours, ...heard.map(({ type }) => type)]).toEqual([hours, ...warnings]);
      for (const { data } of heard) expect(data).toMatchObject({ contractId, budget });
    }
  });

  it('about the same change may share an id while their bodies differ', async () => {
    const world = await openWatching({ sharesEventIds: true });
    await world.link('a');
    await world.link('b');
    await world.heard();
    world.sandbox.hire({ jobId: world.jobId });
    const [one, two] = await world.heard();
    expect(two.id).toBe(one.id);
    expect(two.data.projectLink.id).not.toBe(one.data.projectLink.id);
  });

  it.each([true, false])('show the work address by consent, here %s', async (piiConsent) => {
    const world = await openWatching();
    await world.link('a');
    await world.heard();
    world.sandbox.setPiiConsent(world.installId, piiConsent);
    world.sandbox.hire({ jobId: world.jobId });
    const [{ data }] = await world.heard();
    expect('workEmail' in data.freelancer).toBe(piiConsent);
  });

  it('may be reduced to what part B guarantees', async () => {
    const world = await openWatching({ payloads: 'minimal' });
    await world.link('a');
    await world.heard();
    const trainers = [{ displayName: 'Ana M.', workEmail: 'ana@opentrain.work' }];
    const { contractId } = world.sandbox.hire({ jobId: world.jobId, trainers });
    const { milestone } = world.sandbox.fundMilestone(contractId);
    expect(await world.heard()).toEqual([
      {
        type: 'contract.started',
        resourceId: contractId,
        data: { contract: { id: contractId }, freelancer: trainers[0] },
      },
      { type: 'milestone.funded', resourceId: milestone.id, data: {} },
    ]);
  });
});

async function openWatching(options: SandboxOptions = {}): Promise<Watching> {
  const world = await openWorld({ clock, ...options });
  const receiver = await openReceiver();
  await world.subscribe(receiver.url);
  return {
    ...world,
    receiver,
    async heard() {
      await world.sandbox.idle();
      const bodies = world.sandbox.listDeliveries().map(({ body }) => body);
      const events = receiver.received.splice(0).map(({ rawBody, event }) => ({ rawBody, event }));
      // Attempts run at the same time, but the marketplace lists its deliveries in order.
      return events.toSorted((a, b) => bodies.indexOf(a.rawBody) - bodies.indexOf(b.rawBody)).map(({ event }) => event);
    },
  };
}

async function reportHours({ api }: World, contractId: string, hours: number) {
  const entries = [{ workDate: today, totalSeconds: Math.round(hours * 3600) }];
  const { body } = await api('POST', `/contracts/${contractId}/usage`, { body: { entries } });
  return body.budget;
}
