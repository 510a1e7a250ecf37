import { onTestFinished } from 'vitest';
import { createJobLinks } from '../../src/installs/job-link-store.ts';
import { createEmployerSource } from '../../src/marketplace/employer/create-employer-source.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { clock, today } from '../sandbox/sandbox-harness.ts';
import { openForTest, sqlite } from '../support/databases.ts';
import { openFront } from '../support/front.ts';
import { describeRefusals } from './source-refusals.ts';
import { allCapabilities, type Capability, describeSource, type OpenSite } from './source-suite.ts';

const pacing = { requestsPerSecond: 10_000, burst: 10_000 };

const open: OpenSite = async ({ hasCursors = false } = {}) => {
  const sandbox = createSandbox({ timeScale: 0, seed: 'test', clock, cursors: hasCursors });
  const { employerBaseUrl } = await sandbox.start();
  onTestFinished(() => sandbox.stop());
  const { accountId, token } = sandbox.createAccount();
  const { id: jobId } = sandbox.createJob({ accountId });
  const database = openForTest(await sqlite.createMigrated());
  const links = createJobLinks(database, 'own', new Map([[jobId, 'signs']]));
  return {
    connect: (at) => createEmployerSource({ baseUrl: employerBaseUrl, token, pacing, links, ...at }),
    front: await openFront(employerBaseUrl),
    today,
    jobId,
    hire: (opentrainUserId) => sandbox.hire({ jobId, trainers: [{ opentrainUserId }] }).contractId,
    end: (contractId) => void sandbox.endContract(contractId),
    bill: (contractId) => void sandbox.billContract(contractId),
    withdrawAddress: (opentrainUserId) =>
      void sandbox.hire({ jobId, trainers: [{ opentrainUserId, workEmail: null }] }),
    revokeToken: () => void sandbox.revokeAccountTokens(accountId),
    publish(title) {
      const { manualId, pageIds } = sandbox.createManual(accountId, {
        bindings: [{ targetId: jobId }],
        pages: [{ title }],
      });
      sandbox.publishManual(manualId);
      return (draft) => void sandbox.editPage(pageIds[0] ?? '', { title: draft });
    },
  };
};

const ofPlatforms: readonly Capability[] = ['reportUsage', 'updateEndpoint', 'redeliver'];
const capabilities = allCapabilities.filter((one) => !ofPlatforms.includes(one));

const name = "an employer's own account";
describeSource(name, open, capabilities);
describeRefusals(name, open, { holdsLinks: false });
