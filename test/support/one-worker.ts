import type { Database } from '../../src/db/database.ts';
import { toInstant } from '../../src/lib/clock.ts';
import { decideHeld, decideLate, listLate, takeBackDecision } from '../../src/usage/due/decide-held.ts';
import { type HeldFilter, listHeld } from '../../src/usage/due/held-store.ts';
import { type ItemWork, openUsageWorld } from './usage-harness.ts';

export type OneWorker = Awaited<ReturnType<typeof openOneWorker>>;

const dayMs = 86_400_000;

/** One person who is hired to work on `signs`, with what the marketplace has and what an operator sees and decides. */
export async function openOneWorker(
  database: Database,
  hiredAt: string,
  options: Parameters<typeof openUsageWorld>[1] = {},
) {
  const world = await openUsageWorld(database, options);
  const { engine, tool, sandbox, jobId, ctx } = world;
  const { clock } = engine;
  const by = { actor: 'ada', at: hiredAt };
  const setClock = (at: string) => clock.advance(Date.parse(at) - clock.now().getTime());
  setClock(hiredAt);
  await world.link('signs');
  const { contractId, trainerId, memberId } = world.hire();
  await world.learn();
  const items = new Map<string, ItemWork>();
  tool.items.set('signs', items);

  async function readAndReport() {
    await world.read();
    return await world.report();
  }

  /** Hires the same person again, which Gangway does not know yet. @returns the id of the contract */
  function renew(startDate?: string): string {
    const trainers = [{ opentrainUserId: trainerId }];
    return sandbox.hire({ jobId, trainers, ...(startDate !== undefined && { startDate }) }).contractId;
  }

  async function idOfHeld(seconds: number | undefined): Promise<string> {
    const all = await listHeld(ctx);
    const [one, ...others] = all.filter(({ counts }) => seconds === undefined || counts.seconds === seconds);
    if (one === undefined || others.length > 0) throw new Error(`not one, but: ${JSON.stringify(all)}`);
    return one.id;
  }

  return {
    ...world,
    contractId,
    trainerId,
    memberId,
    setClock,
    readAndReport,
    /** Reads and reports once a day from now on, and at last then. */
    async live(until: string): Promise<void> {
      while (clock.now().getTime() + dayMs < Date.parse(until)) {
        clock.advance(dayMs);
        await readAndReport();
      }
      setClock(until);
      await readAndReport();
    },
    work(id: string, seconds: number, changes: Partial<ItemWork> = {}): void {
      items.set(id, { memberId, seconds, labels: 1, at: toInstant(clock.now()), ...changes });
    },
    /** Has a piece have taken longer, or less. */
    edit(id: string, seconds: number): void {
      const piece = items.get(id);
      if (piece === undefined) throw new Error(`there is no ${id}`);
      items.set(id, { ...piece, seconds, changedAt: toInstant(clock.now()) });
    },
    /** What the marketplace has, in seconds by day. */
    reported(ofContract = contractId): Record<string, number> {
      const contract = sandbox.snapshot().contracts.find(({ id }) => id === ofContract);
      return Object.fromEntries((contract?.usage ?? []).map(({ workDate, totalSeconds }) => [workDate, totalSeconds]));
    },
    /** As `day seconds reason`. */
    async held(filter?: HeldFilter): Promise<string[]> {
      return (await listHeld(ctx, filter)).map(({ day, counts, reason }) => `${day} ${counts.seconds} ${reason}`);
    },
    /** As `day before → after`, in seconds. */
    async late(): Promise<string[]> {
      return (await listLate(ctx, ['acme'])).map(({ day, from, to }) => `${day} ${from.seconds} → ${to.seconds}`);
    },
    /** Decides about the work of so many seconds, or about the only one; null discards it. */
    async decide(ofContract: string | null, seconds?: number): Promise<void> {
      await decideHeld(ctx, by, await idOfHeld(seconds), ofContract);
    },
    async takeBack(seconds?: number): Promise<void> {
      await takeBackDecision(ctx, by, await idOfHeld(seconds));
    },
    /** Decides about the one late day. */
    async decideLate(isSent: boolean): Promise<void> {
      const [one] = await listLate(ctx, ['acme']);
      await decideLate(ctx, by, one?.id ?? '', isSent);
    },
    /** Ends the contract now. */
    async end(): Promise<void> {
      sandbox.endContract(contractId);
      await world.learn();
    },
    renew,
    /** Hires the same person again. @returns the id of the contract */
    async hireAgain(startDate?: string): Promise<string> {
      const renewed = renew(startDate);
      await world.learn();
      return renewed;
    },
  };
}
