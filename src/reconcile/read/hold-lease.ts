import { AppError } from '../../domain/errors.ts';
import { type Clock, instantIn } from '../../lib/clock.ts';
import type { PlatformReader } from '../../marketplace/platform-api.ts';
import type { InstallClaim, InstallStateStore } from './install-state-store.ts';

/** As long as a dead worker may hold things up. */
export const installLeaseMs = 30_000;
const renewEveryMs = installLeaseMs / 3;

interface LeaseDeps {
  installStates: Pick<InstallStateStore, 'renew'>;
  clock: Clock;
}

/** A claimed install, for as long as its read comes further. */
export interface InstallLease {
  /** As it was last renewed. */
  claim(): InstallClaim;
  /**
   * Called with every step of the read: by its progress and by no timer is the lease renewed, so that
   * a read which hangs is taken over.
   *
   * @throws AppError `conflict` once another instance has taken over
   */
  progress(): Promise<void>;
}

/** @param beat is told of every step, too */
export function createInstallLease(
  { installStates, clock }: LeaseDeps,
  claimed: InstallClaim,
  beat: () => void,
): InstallLease {
  let claim = claimed;
  const now = () => clock.now().getTime();
  /** Several requests are under way at once: one of them renews, the others wait for that. */
  let renewing: Promise<void> | undefined;

  async function renew(): Promise<void> {
    const renewed = await installStates.renew(claim, instantIn(clock, installLeaseMs));
    if (renewed === null) {
      const message = `Could not go on reading ${claim.install}: another instance has taken over`;
      throw new AppError('conflict', message);
    }
    claim = renewed;
    renewing = undefined;
  }

  return {
    claim: () => claim,
    async progress() {
      beat();
      const heldForMs = now() - (Date.parse(claim.leasedUntil) - installLeaseMs);
      // One that was taken by a clock that was ahead has been cut back, and is nobody's.
      if (heldForMs >= 0 && heldForMs < renewEveryMs) return;
      renewing ??= renew();
      await renewing;
    },
  };
}

/** The same, told of to `progress`: every answer, and every page of a long listing. */
export function withProgress(api: PlatformReader, progress: InstallLease['progress']): PlatformReader {
  async function tell<T>(asked: Promise<T>): Promise<T> {
    const answer = await asked;
    await progress();
    return answer;
  }
  return {
    getInstall: (signal) => tell(api.getInstall(signal)),
    listProjectLinks: (signal) => tell(api.listProjectLinks(signal)),
    getProjectLink: (id, signal) => tell(api.getProjectLink(id, signal)),
    listParticipants: (id, signal) => tell(api.listParticipants(id, signal)),
    listContracts(filter, signal) {
      const wantsMore: typeof filter.wantsMore = async (page) => {
        await progress();
        return (await filter.wantsMore?.(page)) ?? true;
      };
      return tell(api.listContracts({ ...filter, wantsMore }, signal));
    },
  };
}
