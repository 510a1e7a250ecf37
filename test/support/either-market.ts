import { onTestFinished } from 'vitest';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import type { FakeClock } from './fake-clock.ts';
import { openSecondMarketplace } from './second-marketplace/second-marketplace.ts';

/** One install at a marketplace, for two marketplaces that share no code. */
export interface EitherMarket {
  baseUrl: string;
  token: string;
  createJob(): string;
  hire(jobId: string, trainerId: string): string;
  revokeToken(): void;
  /** Moves the time forward, and delivers what is due. */
  pass(ms: number): Promise<void>;
  /** Resolves when nothing is being delivered or due now. */
  settle(): Promise<void>;
}

export type OpenEitherMarket = (clock: FakeClock, limits?: { endpointsPerInstall?: number }) => Promise<EitherMarket>;

export const openSecond: OpenEitherMarket = async (clock, limits) => {
  const market = await openSecondMarketplace({ clock, ...limits });
  onTestFinished(() => market.stop());
  const { installId, organizationId, token } = market.createInstall();
  return {
    baseUrl: market.baseUrl,
    token,
    createJob: () => market.createJob(organizationId),
    hire: (jobId, trainerId) => market.hire(jobId, [trainerId]),
    revokeToken: () => market.revokeToken(installId),
    async pass(ms) {
      clock.advance(ms);
      await market.deliverDue();
    },
    settle: () => market.deliverDue(),
  };
};

export const openSandbox: OpenEitherMarket = async (clock, limits) => {
  const sandbox = createSandbox({ timeScale: 0, clock, seed: 'one install', ...limits });
  const { baseUrl } = await sandbox.start();
  onTestFinished(() => sandbox.stop());
  const { installId, token } = sandbox.createInstall();
  return {
    baseUrl,
    token,
    createJob: () => sandbox.createJob({ installId }).id,
    hire: (jobId, opentrainUserId) => sandbox.hire({ jobId, trainers: [{ opentrainUserId }] }).contractId,
    revokeToken: () => sandbox.revokeToken(installId),
    async pass(ms) {
      clock.advance(ms);
      await sandbox.advance(ms);
    },
    settle: () => sandbox.idle(),
  };
};
