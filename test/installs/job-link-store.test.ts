import { expect, it } from 'vitest';
import { createJobLinks } from '../../src/installs/job-link-store.ts';
import { fixedLinks } from '../../src/marketplace/source.ts';
import { describeEachDatabase } from '../support/databases.ts';

const configured = new Map([
  ['job_1', 'signs'],
  ['job_2', 'lamps'],
]);

describeEachDatabase("the links of an employer's own account", (openFresh) => {
  async function open(jobs: ReadonlyMap<string, string> = configured) {
    const database = await openFresh();
    return { database, links: createJobLinks(database, 'own', jobs) };
  }

  const toPairs = (links: { jobId?: string | null | undefined; externalProjectId: string }[]) =>
    links.map(({ jobId, externalProjectId }) => `${jobId} ${externalProjectId}`).sort();

  it('of the configuration are made once, whoever lists them first', async () => {
    const { database, links } = await open();
    const beside = createJobLinks(database, 'own', configured);
    const [one, other] = await Promise.all([links.list(), beside.list()]);
    expect(one).toEqual(other);
    expect(toPairs(one)).toEqual(['job_1 signs', 'job_2 lamps']);
    expect(await links.list()).toEqual(one);
    expect(await createJobLinks(database, 'another', new Map()).list()).toEqual([]);
  });

  it('stay when the configuration no longer names them', async () => {
    const { database, links } = await open();
    const known = await links.list();
    expect(await createJobLinks(database, 'own', new Map()).list()).toEqual(known);
  });

  it('of operators are added once each, until they are removed', async () => {
    const { links } = await open();
    const made = await links.create({ externalProjectId: 'signs', jobId: 'job_3' });
    expect(made).toMatchObject({ jobId: 'job_3', externalProjectId: 'signs', provisioningMode: 'PARTNER_WEBHOOK' });
    await expect(links.create({ externalProjectId: 'signs', jobId: 'job_3' })).rejects.toMatchObject({
      code: 'conflict',
      message: 'Job job_3 is already linked to project signs',
    });
    await expect(links.create({ externalProjectId: 'signs' })).rejects.toMatchObject({ code: 'invalid' });
    const managed = { externalProjectId: 'cars', jobId: 'job_3', provisioningMode: 'MANAGED_ADAPTER' } as const;
    await expect(links.create(managed)).rejects.toMatchObject({ code: 'invalid' });
    await links.remove(made.id);
    expect(toPairs(await links.list())).toEqual(['job_1 signs', 'job_2 lamps']);
    await expect(links.remove(made.id)).rejects.toMatchObject({ code: 'not_found' });
    const again = await links.create({ externalProjectId: 'signs', jobId: 'job_3' });
    expect(again.id).not.toBe(made.id);
  });

  it('are not removed while the configuration names them', async () => {
    const { links } = await open();
    const [link] = await links.list();
    await expect(links.remove(link?.id ?? '')).rejects.toMatchObject({
      code: 'conflict',
      message: 'The configuration has this link. Remove it from installs.own.jobs first',
    });
    expect(await links.list()).toHaveLength(2);
  });

  it('are only those of the configuration if there is no database', async () => {
    const links = fixedLinks(configured);
    expect(toPairs(await links.list())).toEqual(['job_1 signs', 'job_2 lamps']);
    await expect(links.create({ externalProjectId: 'signs', jobId: 'job_3' })).rejects.toMatchObject({
      code: 'unavailable',
    });
  });
});
