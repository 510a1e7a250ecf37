import { onTestFinished } from 'vitest';
import { shapesOf } from '../../src/marketplace/compare-openapi.ts';
import { createPlatformSource } from '../../src/marketplace/platform/create-platform-source.ts';
import { ofPlatform } from '../../src/marketplace/relied-on.ts';
import { clock, openWorld, today } from '../sandbox/sandbox-harness.ts';
import { openFront } from '../support/front.ts';
import { openSecondMarketplace } from '../support/second-marketplace/second-marketplace.ts';
import { describeRefusals } from './source-refusals.ts';
import { type Capability, describeSource, type OpenSite } from './source-suite.ts';

const pacing = { requestsPerSecond: 10_000, burst: 10_000 };
const capabilities: Capability[] = ['createLink', 'deleteLink', 'reportUsage', 'updateEndpoint', 'redeliver'];

const atSandbox: OpenSite = async ({ hasCursors = false } = {}) => {
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

/** Where both marketplaces understood the specification the same way, that is worth something. */
const atSecond: OpenSite = async ({ hasCursors = false } = {}) => {
  const market = await openSecondMarketplace({ clock, hasCursors });
  onTestFinished(() => market.stop());
  const { baseUrl } = market;
  const { installId, organizationId, token } = market.createInstall();
  const jobId = market.createJob(organizationId);
  const connect: Awaited<ReturnType<OpenSite>>['connect'] = (at) =>
    createPlatformSource({ baseUrl, token, pacing, ...at });
  await connect().createLink?.({ externalProjectId: 'signs', jobId }, new AbortController().signal);
  return {
    connect,
    front: await openFront(baseUrl),
    today,
    jobId,
    hire: (trainerId) => market.hire(jobId, [trainerId]),
    end: (contractId) => market.end(contractId),
    withdrawAddress: () => market.withdrawConsent(installId),
    revokeToken: () => market.revokeToken(installId),
  };
};

/** The second marketplace describes its operations, but neither what they answer nor what they are sent. */
const undescribed = ofPlatform.flatMap((one) => {
  const { address } = one.operation;
  return [...(shapesOf(one).body === undefined ? [] : [`${address}: body`]), address].map((where) => ({
    where,
    says: 'it is not described',
    isFailure: false,
  }));
});

describeSource('the platform API', atSandbox, capabilities);
describeRefusals('the platform API', atSandbox);
describeSource('the platform API of the second marketplace', atSecond, capabilities, undescribed);
