import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { answerWith, minuteMs, openReceiver, openWorld, request } from './sandbox-harness.ts';

describe('the controls', () => {
  it('do over HTTP what the methods do in process', async () => {
    const { sandbox, url } = await openWorld();
    const control = (path: string, body: object = {}) => request('POST', `${url}/sandbox${path}`, { body });

    const { body: install } = await control('/installs', { piiConsent: false });
    expect(install.token).toMatch(/^ot_ptk_/);
    const { body: job } = await control('/jobs', {
      installId: install.installId,
      title: 'Dogs',
      paymentType: 'PAY_PER_LABEL',
    });
    const trainer = {
      opentrainUserId: 'usr_ana',
      displayName: 'Ana M.',
      workEmail: 'ana@opentrain.work',
    };
    const { body: hired } = await control('/contracts', { jobId: job.id, trainers: [trainer] });
    expect(hired).toMatchObject({ jobId: job.id, trainers: [trainer] });

    const { contractId } = hired;
    const funded = await control(`/contracts/${contractId}/fund`, { volume: 5, amountUsd: 7 });
    expect(funded.body).toMatchObject({ contractId, milestone: { volume: 5, amountUsd: 7 } });
    const replaced = await control(`/contracts/${contractId}/replace-participant`, {
      leaves: 'usr_ana',
      joins: { opentrainUserId: 'usr_ben' },
    });
    expect(replaced.body).toMatchObject({ participants: [{ opentrainUserId: 'usr_ben' }] });
    await control(`/contracts/${contractId}/end`, { endDate: '2026-01-01T00:00:00.000Z' });
    await control(`/installs/${install.installId}/consent`, { piiConsent: true });

    const { body: state } = await request('GET', `${url}/sandbox/state`);
    expect(state).toEqual(sandbox.snapshot());
    expect(state.jobs).toContainEqual({
      ...job,
      title: 'Dogs',
      paymentType: 'PAY_PER_LABEL',
      organizationId: install.organizationId,
    });
    expect(state.installs).toContainEqual(expect.objectContaining({ id: install.installId, piiConsent: true }));
    expect(state.contracts).toMatchObject([{ id: contractId, status: 'ended', endDate: '2026-01-01T00:00:00.000Z' }]);

    await control(`/installs/${install.installId}/revoke-token`);
    const { body: again } = await control(`/installs/${install.installId}/reconnect`);
    expect(again).toMatchObject({ revokedInstallId: install.installId });
    await control(`/installs/${again.installId}/revoke`);
    const statuses = sandbox.snapshot().installs.map(({ status }) => status);
    expect(statuses).toEqual(['ACTIVE', 'REVOKED', 'REVOKED']);
  });

  it('advance time and list deliveries by HTTP', async () => {
    const { sandbox, url, link, subscribe, jobId } = await openWorld();
    const receiver = await openReceiver();
    receiver.respond = answerWith(500);
    await link('a');
    await subscribe(receiver.url);
    sandbox.hire({ jobId });
    expect((await request('POST', `${url}/sandbox/idle`)).status).toBe(200);
    expect(receiver.received).toHaveLength(1);
    await request('POST', `${url}/sandbox/advance`, { body: { ms: minuteMs } });
    expect(receiver.received).toHaveLength(2);
    const { body } = await request('GET', `${url}/sandbox/deliveries`);
    expect(body.deliveries).toEqual(JSON.parse(JSON.stringify(sandbox.listDeliveries())));
    expect(body.deliveries).toMatchObject([{ type: 'contract.started', status: 'PENDING', attempts: { length: 2 } }]);
  });

  it('never show a token or a secret again', async () => {
    const { url, link, subscribe, sandbox, jobId, token } = await openWorld();
    await link('a');
    const { secret } = await subscribe('https://bridge.example.com/hook', ['contract.ended']);
    sandbox.hire({ jobId });
    for (const path of ['/state', '/deliveries']) {
      const text = JSON.stringify((await request('GET', `${url}/sandbox${path}`)).body);
      expect(text).not.toContain(token);
      expect(text).not.toContain(secret);
    }
  });

  it.each([
    [404, '/installs/ins_unknown/consent', { piiConsent: true }],
    [404, '/installs/ins_unknown/revoke', {}],
    [404, '/installs/ins_unknown/reconnect', {}],
    [404, '/jobs', { installId: 'ins_unknown' }],
    [404, '/contracts', { jobId: 'job_unknown' }],
    [404, '/contracts/ctr_unknown/end', {}],
    [404, '/contracts/ctr_unknown/fund', {}],
    [404, '/contracts/{contract}/replace-participant', { leaves: 'usr_unknown' }],
    [404, '/contracts/ctr_unknown/mistaken-end', {}],
    [404, '/links/lnk_unknown/remove', {}],
    [404, '/links/lnk_unknown/relink', {}],
    [404, '/nothing', {}],
    [400, '/installs', { piiConcent: true }],
    [400, '/installs', { scopes: ['everything'] }],
    [400, '/contracts', {}],
    [400, '/contracts', { jobId: 'job', trainers: [] }],
    [400, '/contracts/{contract}/fund', { volume: -1 }],
    [400, '/advance', { ms: -1 }],
    [400, '/links/lnk_unknown/relink', { job: 'job' }],
    [409, '/contracts/{ended}/end', {}],
    [409, '/contracts/{ended}/mistaken-end', {}],
  ])('answer %i to %s %o', async (status, path, body) => {
    const { sandbox, url, jobId } = await openWorld();
    const contract = sandbox.hire({ jobId }).contractId;
    const ended = sandbox.hire({ jobId }).contractId;
    sandbox.endContract(ended);
    const target = path.replace('{contract}', contract).replace('{ended}', ended);
    const answer = await request('POST', `${url}/sandbox${target}`, { body });
    expect([answer.status, typeof answer.body.error]).toEqual([status, 'string']);
  });

  it('refuse a page in a browser', async () => {
    const { url } = await openWorld();
    const response = await fetch(`${url}/sandbox/state`, {
      headers: { origin: 'https://evil.example.com' },
    });
    expect(response.status).toBe(403);
  });

  const [networkAddress] = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, family }) => !internal && family === 'IPv4')
    .map(({ address }) => address);

  it.skipIf(networkAddress === undefined)('refuse another machine', async () => {
    const { url } = await openWorld({ host: '0.0.0.0' });
    const { port } = new URL(url);
    const fromNetwork = await request('GET', `http://${networkAddress}:${port}/sandbox/state`);
    expect(fromNetwork.status).toBe(403);
    const fromHere = await request('GET', `http://127.0.0.1:${port}/sandbox/state`);
    expect(fromHere.status).toBe(200);
  });
});

describe('a reconnect', () => {
  it('gives a new install and token; links and endpoints stay with the old install, which gets no more events', async () => {
    const { sandbox, api, link, subscribe, installId, organizationId, jobId, token } = await openWorld();
    const receiver = await openReceiver();
    await link('a');
    await subscribe(receiver.url);
    sandbox.setPiiConsent(installId, false);
    const again = sandbox.reconnect(installId);
    expect(again).toMatchObject({ revokedInstallId: installId, organizationId });
    expect(again.installId).not.toBe(installId);

    expect((await api('GET', '/installs/current', { token })).status).toBe(401);
    const current = await api('GET', '/installs/current', { token: again.token });
    expect(current.body.install).toMatchObject({ id: again.installId, piiConsent: false });
    for (const family of ['/project-links', '/contracts', '/webhook-endpoints']) {
      const { body } = await api('GET', family, { token: again.token });
      expect(Object.values(body)).toEqual([[]]);
    }
    sandbox.hire({ jobId });
    await sandbox.idle();
    expect(receiver.received.map(({ event }) => event.type)).toEqual(['install.revoked']);

    const relink = { externalProjectId: 'a', jobId };
    const linked = await api('POST', '/project-links', { token: again.token, body: relink });
    expect(linked.status).toBe(201);
    const listed = await api('GET', '/contracts', { token: again.token });
    expect(listed.body.contracts).toHaveLength(1);
  });
});

describe('hiring', () => {
  it('a known trainer again changes only the given fields', async () => {
    const { sandbox, jobId } = await openWorld();
    const [first] = sandbox.hire({ jobId, trainers: [{ workEmail: null }] }).trainers;
    const opentrainUserId = first?.opentrainUserId ?? '';
    const again = { opentrainUserId, workEmail: 'late@opentrain.work' };
    sandbox.hire({ jobId, trainers: [again] });
    const people = sandbox.snapshot().contracts.flatMap(({ participants }) => participants);
    expect(people).toEqual([
      { ...first, ...again },
      { ...first, ...again },
    ]);
  });
});

describe('a customer', () => {
  it('removes a link: its contracts disappear from the list, and do not end', async () => {
    const { sandbox, url, api, link, jobId } = await openWorld();
    const linkId = await link('a');
    sandbox.hire({ jobId });
    const removed = await request('POST', `${url}/sandbox/links/${linkId}/remove`);
    expect(removed.body).toMatchObject({ deleted: true, projectLink: { id: linkId } });
    expect((await api('GET', '/contracts')).body).toEqual({ contracts: [] });
    expect(sandbox.snapshot().contracts).toMatchObject([{ status: 'active' }]);
  });

  it('links another project, which creates a new link', async () => {
    const { sandbox, url, api, link, subscribe, installId, jobId } = await openWorld();
    const receiver = await openReceiver();
    const linkId = await link('a');
    await subscribe(receiver.url);
    const { id: other } = sandbox.createJob({ installId });
    const path = `${url}/sandbox/links/${linkId}/relink`;
    const { body } = await request('POST', path, { body: { jobId: other } });
    expect(body.projectLink).toMatchObject({ externalProjectId: 'a', jobId: other });
    await sandbox.idle();
    expect(sandbox.listDeliveries().map(({ type }) => type)).toEqual(['project_link.removed', 'project_link.created']);
    expect(() => sandbox.relink(body.projectLink.id, { jobId: 'job_unknown' })).toThrow(/No job/);
    expect(sandbox.listDeliveries()).toHaveLength(2);
    const { projectLink: again } = sandbox.relink(body.projectLink.id, { externalProjectId: 'b', jobId });
    expect(new Set([linkId, body.projectLink.id, again.id]).size).toBe(3);
    const { projectLinks } = (await api('GET', '/project-links')).body;
    expect(projectLinks).toMatchObject([{ id: again.id, externalProjectId: 'b', jobId }]);
  });
});

describe('the links of a revoked install', () => {
  it('cannot be changed', async () => {
    const { sandbox, link, installId } = await openWorld();
    const linkId = await link('a');
    sandbox.revokeInstall(installId);
    expect(() => sandbox.removeLink(linkId)).toThrow(/revoked/);
    expect(() => sandbox.relink(linkId)).toThrow(/revoked/);
    expect(sandbox.snapshot().projectLinks).toHaveLength(1);
  });
});

describe('a seed', () => {
  it('decides every id, token and secret', async () => {
    async function play(seed: string | undefined) {
      const { sandbox, link, subscribe, jobId, token } = await openWorld(seed ? { seed } : {});
      await link('a');
      const { secret } = await subscribe('https://bridge.example.com/hook', ['contract.ended']);
      const { contractId } = sandbox.hire({ jobId });
      return [jobId, token, secret, contractId];
    }
    const [first, same, other] = [await play('one'), await play('one'), await play('two')];
    expect(same).toEqual(first);
    for (const [index, id] of other.entries()) expect(id).not.toBe(first[index]);
  });

  it('is random unless given', () => {
    const tokens = [createSandbox(), createSandbox()].map((one) => one.createInstall().token);
    expect(tokens[0]).not.toBe(tokens[1]);
  });
});

describe('a sandbox', () => {
  it('keeps its state and port over a stop', async () => {
    const { sandbox, api, url, link } = await openWorld();
    await link('a');
    await sandbox.stop();
    await expect(fetch(`${url}/sandbox/state`)).rejects.toThrow();
    expect((await sandbox.start()).url).toBe(url);
    expect((await api('GET', '/project-links')).body.projectLinks).toHaveLength(1);
  });

  it('may be stopped twice, or before it was started', async () => {
    const sandbox = createSandbox();
    await sandbox.stop();
    await sandbox.start();
    await sandbox.stop();
    await sandbox.stop();
  });
});
