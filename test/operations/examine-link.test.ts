import { expect, it, onTestFinished } from 'vitest';
import { createEmployerSource } from '../../src/marketplace/employer/create-employer-source.ts';
import { fixedLinks } from '../../src/marketplace/source.ts';
import { examineLink } from '../../src/operations/links.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { openDoccanoFake } from '../support/doccano-fake.ts';
import { doccanoAdapter } from '../support/doccano-harness.ts';
import { actAs, makeProject } from '../support/doccano-site.ts';

const { signal } = new AbortController();

it('warns about a new link whose project and job do not exist', async () => {
  const doccano = await openDoccanoFake();
  const project = String(await makeProject(await actAs(doccano, doccano.admin), 'signs'));
  const sandbox = createSandbox({ timeScale: 0 });
  const { employerBaseUrl: baseUrl } = await sandbox.start();
  onTestFinished(() => sandbox.stop());
  const { accountId, token } = sandbox.createAccount();
  const { id: job } = sandbox.createJob({ accountId });
  const links = fixedLinks(
    new Map([
      [job, project],
      ['job_none', '999'],
    ]),
  );
  const source = createEmployerSource({ baseUrl, token, links });
  const walls = {
    installs: new Map([['acme', { tool: 'studio', projects: ['*'] }]]),
    adapters: new Map([['studio', doccanoAdapter(doccano)]]),
  };
  const [good, bad] = await source.listLinks(signal);
  if (good === undefined || bad === undefined) throw new Error('there are two links');
  expect(await examineLink(walls, source, 'acme', good, signal)).toEqual([]);
  expect(await examineLink(walls, source, 'acme', bad, signal)).toEqual([
    'studio has no project 999, so nobody gets in until it exists',
    expect.stringMatching(/^job job_none cannot be read: .*answered 404/),
  ]);
  expect(await examineLink(walls, source, 'acme', { ...bad, provisioningMode: 'MANAGED_ADAPTER' }, signal)).toEqual([]);

  const unreachable = new Map([['studio', doccanoAdapter(doccano, { url: 'http://127.0.0.1:9' })]]);
  expect(await examineLink({ ...walls, adapters: unreachable }, source, 'acme', good, signal)).toEqual([
    expect.stringContaining(`Gangway could not check whether studio has project ${project}: `),
  ]);
});
