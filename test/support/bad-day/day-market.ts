import { onTestFinished } from 'vitest';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import type { FakeClock } from '../fake-clock.ts';
import { openSecondMarketplace } from '../second-marketplace/second-marketplace.ts';

/** What a bad day needs of a marketplace, for two that share no code. */
export interface DayMarket {
  baseUrl: string;
  /** The first time a customer's install, later the same one's next. */
  connect(): { token: string };
  createJob(): string;
  hire(jobId: string, trainerId: string): string;
  end(contractId: string): void;
  replace(contractId: string, leaves: string, joins: string): void;
  revokeToken(): void;
  /** Moves the time on, and delivers what is due by then. */
  pass(ms: number): Promise<void>;
  /** Resolves when nothing is being delivered or due now. */
  settle(): Promise<void>;
}

export interface LossyDay {
  lost: number;
  repeated: number;
  reordered: number;
}

export const lossless: LossyDay = { lost: 0, repeated: 0, reordered: 0 };

export type OpenDayMarket = (
  clock: FakeClock,
  lossy: LossyDay,
  limits?: { endpointsPerInstall?: number },
) => Promise<DayMarket>;

export const openSecond: OpenDayMarket = async (clock, emission, limits) => {
  const market = await openSecondMarketplace({ clock, emission, seed: 20, ...limits });
  onTestFinished(() => market.stop());
  let install: ReturnType<typeof market.createInstall> | undefined;
  return {
    baseUrl: market.baseUrl,
    connect() {
      install = install === undefined ? market.createInstall() : market.reconnect(install.installId);
      return { token: install.token };
    },
    createJob: () => market.createJob(install?.organizationId ?? ''),
    hire: (jobId, trainerId) => market.hire(jobId, [trainerId]),
    end: (contractId) => market.end(contractId),
    replace: (contractId, _, joins) => market.replacePeople(contractId, [joins]),
    revokeToken: () => market.revokeToken(install?.installId ?? ''),
    async pass(ms) {
      clock.advance(ms);
      await market.deliverDue();
    },
    settle: () => market.deliverDue(),
  };
};

export const openSandbox: OpenDayMarket = async (clock, { lost, repeated, reordered }, limits) => {
  const sandbox = createSandbox({ timeScale: 0, clock, seed: 'a bad day', ...limits });
  const { baseUrl } = await sandbox.start();
  onTestFinished(() => sandbox.stop());
  sandbox.setFaults(undefined, { lose: lost, repeat: repeated, reorder: reordered });
  let installId = '';
  return {
    baseUrl,
    connect() {
      const connected = installId === '' ? sandbox.createInstall() : sandbox.reconnect(installId);
      ({ installId } = connected);
      return { token: connected.token };
    },
    createJob: () => sandbox.createJob({ installId }).id,
    hire: (jobId, opentrainUserId) => sandbox.hire({ jobId, trainers: [{ opentrainUserId }] }).contractId,
    end: (contractId) => sandbox.endContract(contractId),
    replace: (contractId, leaves, opentrainUserId) =>
      void sandbox.replaceParticipant(contractId, { leaves, joins: { opentrainUserId } }),
    revokeToken: () => sandbox.revokeToken(installId),
    async pass(ms) {
      clock.advance(ms);
      await sandbox.advance(ms);
    },
    settle: () => sandbox.idle(),
  };
};
