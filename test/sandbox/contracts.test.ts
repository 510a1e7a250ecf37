import { describe, expect, it } from 'vitest';
import { clock, openWorld, today, type World } from './sandbox-harness.ts';

describe('the listing of contracts', () => {
  it('shows what is hired on linked jobs, newest first, with the links of the install', async () => {
    const world = await openWorld({ clock });
    const { sandbox, jobId } = world;
    const older = sandbox.hire({ jobId, title: 'Older', startDate: '2026-01-02T00:00:00.000Z' });
    const newer = sandbox.hire({ jobId });
    sandbox.hire({ jobId: sandbox.createJob({ installId: world.installId }).id });
    expect(await list(world)).toEqual([]);

    const links = [await world.link('a'), await world.link('b')];
    await world.link('no job', null);
    sandbox.endContract(older.contractId);
    expect((await world.api('GET', '/contracts')).body).toEqual({
      contracts: [
        expect.objectContaining({ id: newer.contractId, status: 'active', endDate: null }),
        {
          id: older.contractId,
          status: 'ended',
          jobId,
          title: 'Older',
          startDate: '2026-01-02T00:00:00.000Z',
          endDate: `${today}T12:00:00.000Z`,
          createdAt: `${today}T12:00:00.000Z`,
          projectLinkIds: links,
        },
      ],
    });
  });

  it('filters by status and by link', async () => {
    const world = await openWorld();
    const { sandbox, installId, jobId } = world;
    const otherJob = sandbox.createJob({ installId });
    const [linkId, otherLinkId] = [await world.link('a'), await world.link('b', otherJob.id)];
    const active = sandbox.hire({ jobId }).contractId;
    const ended = sandbox.hire({ jobId }).contractId;
    const other = sandbox.hire({ jobId: otherJob.id }).contractId;
    sandbox.endContract(ended);

    expect(await list(world, 'status=active')).toEqual([other, active]);
    expect(await list(world, 'status=ended')).toEqual([ended]);
    expect(await list(world, `projectLinkId=${linkId}`)).toEqual([ended, active]);
    expect(await list(world, `projectLinkId=${otherLinkId}`)).toEqual([other]);
    expect(await list(world, `projectLinkId=${linkId}&status=active`)).toEqual([active]);
    expect(await list(world, 'projectLinkId=lnk_unknown')).toEqual([]);
  });

  it('ends after 50 without a limit, and does not say that there are more', async () => {
    const world = await openWorld();
    await world.link('a');
    const hired = Array.from({ length: 201 }, () => world.sandbox.hire({ jobId: world.jobId }));
    const ids = hired.map(({ contractId }) => contractId).reverse();
    expect(await list(world)).toEqual(ids.slice(0, 50));
    expect(await list(world, 'limit=1')).toEqual(ids.slice(0, 1));
    expect(await list(world, 'limit=200')).toEqual(ids.slice(0, 200));
    expect(Object.keys((await world.api('GET', '/contracts')).body)).toEqual(['contracts']);
  });

  it.each([
    'limit=0',
    'limit=201',
    'limit=-1',
    'limit=1.5',
    'limit=',
    'limit=ten',
    'limit=5&limit=6',
    'status=paused',
    'status=ACTIVE',
  ])('answers 400 to %s', async (query) => {
    const { api } = await openWorld();
    const { status, body } = await api('GET', `/contracts?${query}`);
    expect([status, body.code]).toEqual([400, 'BAD_REQUEST']);
  });

  it('answers 400 to a cursor that it did not give', async () => {
    const { api } = await openWorld({ cursors: true });
    expect((await api('GET', '/contracts?cursor=forged')).status).toBe(400);
  });

  it('loses a contract with its last link; its participants and budget cannot be read then', async () => {
    const world = await openWorld();
    const [first, second] = [await world.link('a'), await world.link('b')];
    const { contractId } = world.sandbox.hire({ jobId: world.jobId });
    await world.api('DELETE', `/project-links/${first}`);
    const { body } = await world.api('GET', '/contracts');
    expect(body.contracts).toMatchObject([{ id: contractId, projectLinkIds: [second] }]);

    await world.api('DELETE', `/project-links/${second}`);
    expect(await list(world)).toEqual([]);
    for (const part of ['participants', 'budget']) {
      expect((await world.api('GET', `/contracts/${contractId}/${part}`)).status).toBe(404);
    }
  });
});

describe('participants', () => {
  it('are masked people with a managed address', async () => {
    const world = await openWorld();
    await world.link('a');
    const { contractId } = world.sandbox.hire({ jobId: world.jobId, trainers: [{}, {}] });
    const { body } = await world.api('GET', `/contracts/${contractId}/participants`);
    const masked = {
      opentrainUserId: expect.any(String),
      displayName: expect.stringMatching(/^\p{L}+ \p{Lu}\.$/u),
      country: expect.any(String),
      profileUrl: expect.stringMatching(/^https:/),
      workEmail: expect.stringMatching(/^[^@]+@opentrain\.work$/),
    };
    expect(body).toEqual({ contractId, participants: [masked, masked] });
    const [one, two] = body.participants;
    expect(one.opentrainUserId).not.toBe(two.opentrainUserId);
    expect(one.workEmail).not.toBe(two.workEmail);
  });

  it.each([
    { scope: true, consent: true, address: 'ana@opentrain.work', isShown: true },
    { scope: false, consent: true, address: 'ana@opentrain.work', isShown: false },
    { scope: true, consent: false, address: 'ana@opentrain.work', isShown: false },
    { scope: false, consent: false, address: 'ana@opentrain.work', isShown: false },
    { scope: true, consent: true, address: null, isShown: false },
  ])('show an address by scope, consent and existence: %o', async (row) => {
    const { sandbox, api, organizationId, jobId } = await openWorld();
    const { token } = sandbox.createInstall({
      organizationId,
      piiConsent: row.consent,
      tokenScopes: ['project-links:write', 'participants:read', ...(row.scope ? ['participants:email' as const] : [])],
    });
    await api('POST', '/project-links', { token, body: { externalProjectId: 'a', jobId } });
    const trainers = [{ workEmail: row.address }];
    const { contractId } = sandbox.hire({ jobId, trainers });
    const { body } = await api('GET', `/contracts/${contractId}/participants`, { token });
    expect('workEmail' in body.participants[0]).toBe(row.isShown);
  });

  it('show the address as soon as consent is given, and hide it when it is withdrawn', async () => {
    const world = await openWorld();
    await world.link('a');
    const { contractId } = world.sandbox.hire({ jobId: world.jobId });
    const shown: boolean[] = [];
    for (const consent of [false, true, false]) {
      world.sandbox.setPiiConsent(world.installId, consent);
      const { body } = await world.api('GET', `/contracts/${contractId}/participants`);
      shown.push('workEmail' in body.participants[0]);
    }
    expect(shown).toEqual([false, true, false]);
  });

  it('stay readable after the contract ended', async () => {
    const world = await openWorld();
    await world.link('a');
    const { contractId, trainers } = world.sandbox.hire({ jobId: world.jobId });
    world.sandbox.endContract(contractId);
    const { body } = await world.api('GET', `/contracts/${contractId}/participants`);
    expect(body.participants).toEqual(trainers);
  });
});

async function list({ api }: World, query = ''): Promise<string[]> {
  const { body } = await api('GET', `/contracts?${query}`);
  return body.contracts.map(({ id }: { id: string }) => id);
}
