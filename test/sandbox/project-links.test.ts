import { describe, expect, it } from 'vitest';
import { clock, openWorld, today } from './sandbox-harness.ts';

const url2048 = `https://example.com/${'u'.repeat(2048 - 'https://example.com/'.length)}`;

describe('project links', () => {
  it('are created with what was asked for, and with defaults for the rest', async () => {
    const { api, jobId } = await openWorld({ clock });
    const asked = {
      externalProjectId: 'p'.repeat(200),
      externalProjectName: 'n'.repeat(300),
      externalProjectUrl: url2048,
      provisioningMode: 'MANAGED_ADAPTER',
      jobId,
    };
    const full = await api('POST', '/project-links', { body: asked });
    expect(full).toEqual({
      status: 201,
      body: {
        projectLink: { id: expect.any(String), createdAt: `${today}T12:00:00.000Z`, ...asked },
      },
    });

    const bare = await api('POST', '/project-links', { body: { externalProjectId: 'bare' } });
    expect(bare.body.projectLink).toMatchObject({
      externalProjectName: null,
      externalProjectUrl: null,
      provisioningMode: 'PARTNER_WEBHOOK',
      jobId: null,
    });
    const { id } = bare.body.projectLink;
    expect((await api('GET', `/project-links/${id}`)).body).toEqual(bare.body);
  });

  it.each([
    [400, 'no externalProjectId', {}],
    [400, 'an empty externalProjectId', { externalProjectId: '' }],
    [400, 'an externalProjectId of 201 characters', { externalProjectId: 'p'.repeat(201) }],
    [400, 'an externalProjectId that is no text', { externalProjectId: 7 }],
    [400, 'a name of 301 characters', { externalProjectId: 'a', externalProjectName: 'n'.repeat(301) }],
    [400, 'a url of 2049 characters', { externalProjectId: 'a', externalProjectUrl: `${url2048}u` }],
    [400, 'a url of another scheme', { externalProjectId: 'a', externalProjectUrl: 'ftp://x' }],
    [400, 'an unknown mode', { externalProjectId: 'a', provisioningMode: 'MAGIC' }],
    [404, 'an unknown job', { externalProjectId: 'a', jobId: 'job_nowhere' }],
    [409, 'an externalProjectId that is linked', { externalProjectId: 'taken' }],
  ])('answer %i to %s', async (status, _, body) => {
    const { api, link } = await openWorld();
    await link('taken');
    expect((await api('POST', '/project-links', { body })).status).toBe(status);
    expect((await api('GET', '/project-links')).body.projectLinks).toHaveLength(1);
  });

  it("answer 404 to another employer's job", async () => {
    const { api, sandbox } = await openWorld();
    const { installId } = sandbox.createInstall();
    const job = sandbox.createJob({ installId });
    const body = { externalProjectId: 'a', jobId: job.id };
    expect((await api('POST', '/project-links', { body })).status).toBe(404);
  });

  it('answer 409 at the limit of the install', async () => {
    const { api, link } = await openWorld({ linksPerInstall: 2 });
    await link('one');
    const second = await link('two');
    const body = { externalProjectId: 'three' };
    expect((await api('POST', '/project-links', { body })).status).toBe(409);
    await api('DELETE', `/project-links/${second}`);
    expect((await api('POST', '/project-links', { body })).status).toBe(201);
  });

  it('share an externalProjectId only across installs', async () => {
    const { api, link, sandbox } = await openWorld();
    await link('shared');
    const { token } = sandbox.createInstall();
    const body = { externalProjectId: 'shared' };
    expect((await api('POST', '/project-links', { body, token })).status).toBe(201);
  });

  it('are listed newest first, without those of other installs', async () => {
    const { api, link, sandbox } = await openWorld();
    const ids = [await link('one'), await link('two'), await link('three')];
    const { token } = sandbox.createInstall();
    await api('POST', '/project-links', { token, body: { externalProjectId: 'theirs' } });
    const { body } = await api('GET', '/project-links');
    expect(body.projectLinks.map(({ id }: { id: string }) => id)).toEqual(ids.reverse());
  });

  it('are gone after a delete that answers their last state, and make room for their id', async () => {
    const { api, link } = await openWorld();
    const id = await link('again');
    const { projectLink } = (await api('GET', `/project-links/${id}`)).body;
    const deleted = await api('DELETE', `/project-links/${id}`);
    expect(deleted).toEqual({ status: 200, body: { projectLink, deleted: true } });
    expect((await api('GET', `/project-links/${id}`)).status).toBe(404);
    expect((await api('DELETE', `/project-links/${id}`)).status).toBe(404);
    expect(await link('again')).not.toBe(id);
  });
});
