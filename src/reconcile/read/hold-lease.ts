import type { Context } from '../../context.ts';
import { AppError } from '../../domain/errors.ts';
import { instantIn } from '../../lib/clock.ts';
import type { SourceReader } from '../../sources/source.ts';
import { type InstallClaim, renewInstallRead } from './install-state-store.ts';

/** A dead worker delays a read by at most this long. */
export const installLeaseMs = 30_000;
const renewEveryMs = installLeaseMs / 3;

/** The claim of an install, held as long as its read makes progress. */
export interface InstallLease {
  /** The claim as it was last renewed. */
  claim(): InstallClaim;
  /**
   * Renews the lease. Each step of the read calls it, and no timer does, so that another instance
   * takes over a read that hangs.
   *
   * @throws AppError `conflict` if another instance has taken over
   */
  progress(): Promise<void>;
}

/** @param beat called at every step too */
export function createInstallLease(ctx: Context, claimed: InstallClaim, beat: () => void): InstallLease {
  let claim = claimed;
  const now = () => ctx.clock.now().getTime();
  /** Several requests run at the same time; one of them renews, and the others wait for it. */
  let renewing: Promise<void> | undefined;

  async function renew(): Promise<void> {
    const renewed = await renewInstallRead(ctx, claim, instantIn(ctx.clock, installLeaseMs));
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
      // A lease from a clock that was ahead has been cut back, so it must be renewed.
      if (heldForMs >= 0 && heldForMs < renewEveryMs) return;
      renewing ??= renew();
      await renewing;
    },
  };
}

/** The same reader, which calls `progress` at every answer and at every page of a long listing. */
export function withProgress(source: SourceReader, progress: InstallLease['progress']): SourceReader {
  async function noting<T>(asked: Promise<T>): Promise<T> {
    const answer = await asked;
    await progress();
    return answer;
  }
  return {
    readGrant: (signal) => noting(source.readGrant(signal)),
    listLinks: (signal) => noting(source.listLinks(signal)),
    readLink: (id, signal) => noting(source.readLink(id, signal)),
    listParticipants: (id, signal) => noting(source.listParticipants(id, signal)),
    listContracts(filter, signal) {
      const wantsMore: typeof filter.wantsMore = async (page) => {
        await progress();
        return (await filter.wantsMore?.(page)) ?? true;
      };
      return noting(source.listContracts({ ...filter, wantsMore }, signal));
    },
  };
}
