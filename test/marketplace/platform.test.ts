import { createPlatformSource } from '../../src/marketplace/platform/create-platform-source.ts';
import { clock, openWorld, today } from '../sandbox/sandbox-harness.ts';
import { openFront } from '../support/front.ts';
import { describeSource, type OpenSite } from './source-suite.ts';

const pacing = { requestsPerSecond: 10_000, burst: 10_000 };

const open: OpenSite = async ({ hasCursors = false } = {}) => {
  const { sandbox, baseUrl, token, installId, jobId, link } = await openWorld({ clock, cursors: hasCursors });
  await link('signs');
  return {
    connect: (at) => createPlatformSource({ baseUrl, token, pacing, ...at }),
    front: await openFront(baseUrl),
    today,
    jobId,
    hire: (opentrainUserId) => sandbox.hire({ jobId, trainers: [{ opentrainUserId }] }).contractId,
    end: (contractId) => void sandbox.endContract(contractId),
    withdrawAddress: () => void sandbox.setPiiConsent(installId, false),
    revokeToken: () => void sandbox.revokeToken(installId),
  };
};

describeSource('the platform API', open, ['createLink', 'deleteLink', 'reportUsage', 'updateEndpoint', 'redeliver']);
