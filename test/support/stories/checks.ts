import { disputeAfterMin, inAfterHeardMin, inAfterMin, outAfterMin, saidRemovedMin, undisturbedMin } from './bounds.ts';
import { clockOf } from './market-api.ts';
import { installOf, type Story } from './story.ts';
import { isHeard, type Reason } from './truth.ts';

/**
 * What must be so at every moment of every story.
 *
 * 1. **No wrong end.** A call that takes a trainer out of a group is wrong while they have a reason to
 *    be in it: an active contract that they are on, whose job a live link leads to the group; or one
 *    that was lost so lately that its grace is not over (`keptForMin`: a link that is gone, a customer
 *    who has disconnected or reconnected). It is no fault of the bridge's
 *    - where it has not heard of that reason: no event of it has come in and no reading has shown
 *      it. That does not count where the marketplace could have been asked, as before an explicit end;
 *    - where the marketplace itself says the contrary by what it answered last: readings that are
 *      older than the reason, or an end by mistake that no reading could contradict yet.
 * 2. **In** (`inAfterMin`): who has had a reason for long enough, undisturbed, is in.
 * 3. **Out** (`outAfterMin`): whose last reason ended long enough ago, undisturbed, is out, if any
 *    source tells of the end; and no such trainer is put in.
 * 4. **Said to be removed is out**: who is said to be removed is not in.
 * 5. **In their own tool**: while another server stands at the configured address, no person is added or
 *    removed there.
 */
export interface Checks {
  /** Called with every call that is made in the tool. */
  onAdd(seat: string, isStrange: boolean): void;
  /** @param staysIn whether the trainer is in the group under another address too */
  onRemove(seat: string, isStrange: boolean, staysIn: boolean): void;
  /** Called after every turn. */
  look(): void;
  /** @param said who is said to be removed by now, of all stories */
  lookAtSaid(said: ReadonlySet<string>): void;
  /** What was wrong, in words. */
  wrongs(): readonly string[];
}

const minute = 60_000;

export function createChecks(story: Story, nowMs: () => number): Checks {
  const { truth, heard, market, tool } = story;
  const wrongs = new Set<string>();
  /** Since when a trainer is in who is said to be out. */
  const leaking = new Map<string, number>();

  function wrong(kind: string, seat: string, why: string): void {
    // Once for each: what is wrong stays so for a while.
    if ([...wrongs].some((one) => one.includes(`${kind}: ${seat}`))) return;
    const says = `${clockOf(nowMs())} ${kind}: ${seat} (${why})`;
    wrongs.add(says);
    story.log(`*** ${says}`);
  }

  /** Whether the marketplace said last that there is no such reason. */
  function isContradicted({ customer, contract, linkedMs, joinedMs }: Reason): boolean {
    const now = nowMs();
    const mistakenAt = heard.lastAsOf(`end of ${contract}`, now);
    const listedAt = heard.lastAt(`active ${contract}`, now);
    if (mistakenAt !== undefined && (listedAt ?? 0) < mistakenAt + disputeAfterMin * minute) return true;
    const linksAsOf = heard.lastAsOf(`links ${customer}`, now) ?? Number.POSITIVE_INFINITY;
    const askedAsOf = heard.lastAsOf(`asked ${contract}`, now) ?? Number.POSITIVE_INFINITY;
    return linksAsOf < linkedMs || askedAsOf < joinedMs;
  }

  /** Whether the bridge is to ask before the last reason it knew may count as the last. */
  function isToAsk(reason: Reason): boolean {
    const ended = truth
      .of(reason.seat)
      .filter((one) => one.untilMs !== null && isHeard(heard, one, nowMs()))
      .sort((a, b) => (a.untilMs ?? 0) - (b.untilMs ?? 0))
      .at(-1);
    if (ended?.ending !== 'contract_ended' || ended.customer !== reason.customer) return false;
    const reading = story.reading.get(reason.customer);
    if (reading === undefined || !market.of(reason.customer).isActive) return false;
    const untilMs = [reading.refusedUntilMs, reading.swappedUntilMs, reading.old.untilMs];
    return Math.max(...untilMs, reading.cut.untilMs) <= nowMs();
  }

  const mustStay = (seat: string): Reason | undefined =>
    truth
      .of(seat)
      .find(
        (reason) =>
          truth.protects(reason, nowMs()) &&
          !isContradicted(reason) &&
          (isHeard(heard, reason, nowMs()) || (reason.untilMs === null && isToAsk(reason))),
      );

  function mustBeIn(seat: string): Reason | undefined {
    const now = nowMs();
    const disturbed = story.disturbedUntilMs();
    const handAt = story.handsAt.get(seat) ?? 0;
    return truth.standing(seat).find((reason) => {
      const { fromMs, joinedMs } = reason;
      // Who has joined lately is only known by asking who is on the contract.
      const begun = fromMs < joinedMs + inAfterMin.joined * minute ? 'joined' : 'hired';
      const sinceMs = Math.max(fromMs, disturbed, handAt);
      if (now >= sinceMs + inAfterMin[begun] * minute) return true;
      // A trainer that another hand took out is missed only by a listing.
      if (handAt > 0 || now < disturbed + undisturbedMin * minute) return false;
      return isHeard(heard, reason, now - inAfterHeardMin * minute) && !isContradicted(reason);
    });
  }

  /** Whether any source tells the bridge that it ended. */
  function isKnowable(reason: Reason): boolean {
    const { ending, contract, customer, fromMs, untilMs } = reason;
    // What a database from a backup has never heard it cannot end.
    if (!isHeard(heard, reason, nowMs())) return false;
    const name = story.names.get(customer);
    // What ended before the bridge knew the customer under this name, it has never heard of.
    const isKnownByName =
      name === undefined ||
      name.sinceMs < fromMs ||
      heard.knows(`pair ${contract} ${reason.link}`, name.sinceMs, nowMs());
    if (!isKnownByName) return false;
    // A contract whose new job has no link is in no list, and missed rather than moved.
    const isListed = () => (heard.lastAsOf(`active ${contract}`, nowMs()) ?? 0) >= (untilMs ?? 0);
    const isEndKnown = () => heard.lastAt(`end of ${contract}`, nowMs()) !== undefined;
    if (ending === 'moved') return isListed() || isEndKnown();
    if (ending !== 'contract_ended') return true;
    return !story.plan.isEndedCutOff || isEndKnown();
  }

  function mustBeOut(seat: string): boolean {
    const disturbed = story.disturbedUntilMs();
    // While a customer who shares the group cannot be read, a removal may wait as for a disconnection.
    const areAllThere = [...market.customers.values()].every(({ isActive }) => isActive);
    const leastMin = areAllThere ? 0 : outAfterMin.disconnected;
    return truth.of(seat).every((reason) => {
      const { untilMs, ending } = reason;
      if (untilMs === null || ending === null) return false;
      const afterMin = Math.max(leastMin, outAfterMin[ending]);
      const dueMs = Math.max(untilMs, disturbed) + afterMin * minute;
      return nowMs() >= dueMs && isKnowable(reason);
    });
  }

  const linksTo = (seat: string) =>
    [...market.customers.values()]
      .flatMap(({ links }) => links)
      .filter(({ project }) => seat.startsWith(`${project}/`));
  /** A trainer is let be who is in where another provisions, or where it is not known who does. */
  const isLetBe = (seat: string) => linksTo(seat).some(({ mode }) => mode !== 'PARTNER_WEBHOOK');
  /** What changes without moving is known by the next reading. */
  const isToBeLearnt = (seat: string) =>
    linksTo(seat).some(
      ({ managedAtMs }) =>
        managedAtMs !== undefined &&
        nowMs() < Math.max(managedAtMs, story.disturbedUntilMs()) + inAfterMin.hired * minute,
    );

  /** Whether the trainer was never to be in the group, and has left a contract that the bridge may still count. */
  const hasLeftLately = (seat: string) =>
    truth.of(seat).length === 0 &&
    truth.all().some(({ trainer, ending, untilMs }) => {
      const isTheirs = ending === 'left' && seat.endsWith(`/${trainer}`);
      return isTheirs && nowMs() < Math.max(untilMs ?? 0, story.disturbedUntilMs()) + outAfterMin.left * minute;
    });

  return {
    wrongs: () => [...wrongs],
    onAdd(seat, isStrange) {
      if (isStrange) wrong('added in another tool', seat, 'the configured one is not theirs');
      story.addedAt.set(seat, nowMs());
      if (mustBeOut(seat) && !isToBeLearnt(seat) && !hasLeftLately(seat))
        wrong('added without a reason', seat, 'none for long');
    },
    onRemove(seat, isStrange, staysIn) {
      if (isStrange) wrong('removed in another tool', seat, 'the configured one is not theirs');
      const reason = staysIn ? undefined : mustStay(seat);
      if (reason === undefined) return;
      wrong('wrong end', seat, `${reason.contract} by ${reason.link} of ${reason.customer}`);
    },
    look() {
      const roster = tool.roster();
      for (const seat of truth.seats()) {
        const reason = roster.has(seat) ? undefined : mustBeIn(seat);
        if (reason !== undefined) wrong('not in', seat, `${reason.contract} since ${clockOf(reason.fromMs)}`);
        if (roster.has(seat) && mustBeOut(seat) && !isLetBe(seat) && !story.forgotten.has(seat))
          wrong('still in', seat, 'long after the end');
      }
    },
    lookAtSaid(isSaid) {
      const roster = tool.roster();
      for (const seat of truth.seats()) {
        if (!roster.has(seat) || !isSaid.has(seat) || story.forgotten.has(seat)) {
          leaking.delete(seat);
          continue;
        }
        const sinceMs = Math.max(leaking.get(seat) ?? nowMs(), story.disturbedUntilMs());
        leaking.set(seat, leaking.get(seat) ?? nowMs());
        if (nowMs() >= sinceMs + saidRemovedMin * minute)
          wrong('said to be removed and in', seat, `known as ${installOf(story, 'acme')}`);
      }
    },
  };
}
