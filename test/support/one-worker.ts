import type { Database } from '../../src/db/database.ts';
import { toInstant } from '../../src/lib/clock.ts';
import { decideHeld, decideLate, listLate, takeBackDecision } from '../../src/usage/due/decide-held.ts';
import { type HeldFilter, listHeld } from '../../src/usage/due/held-store.ts';
import { type ItemWork, openUsageWorld, type UsageWorld } from './usage-harness.ts';

/** One person who is hired to work on `signs`, with what the marketplace has and what an operator sees and decides. */
export interface OneWorker extends UsageWorld {
  contractId: string;
  trainerId: string;
  memberId: string;
  setClock(at: string): void;
  /** Reads and reports once a day from now on, and at last then. */
  live(until: string): Promise<void>;
  readAndReport(): ReturnType<UsageWorld['report']>;
  work(id: string, seconds: number, changes?: Partial<ItemWork>): void;
  /** Has a piece have taken longer, or less. */
  edit(id: string, seconds: number): void;
  /** What the marketplace has, in seconds by day. */
  reported(ofContract?: string): Record<string, number>;
  /** As `day seconds reason`. */
  held(filter?: HeldFilter): Promise<string[]>;
  /** As `day before → after`, in seconds. */
  late(): Promise<string[]>;
  /** Decides about the work of so many seconds, or about the only one; null discards it. */
  decide(contractId: string | null, ofSeconds?: number): Promise<void>;
  takeBack(ofSeconds?: number): Promise<void>;
  /** Decides about the one late day. */
  decideLate(isSent: boolean): Promise<void>;
  /** Ends the contract now. */
  end(): Promise<void>;
  /** Hires the same person again. @returns the id of the contract */
  hireAgain(startDate?: string): Promise<string>;
}

const dayMs = 86_400_000;

export async function openOneWorker(
  database: Database,
  hiredAt: string,
  options: Parameters<typeof openUsageWorld>[1] = {},
): Promise<OneWorker> {
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
    async live(until) {
      while (clock.now().getTime() + dayMs < Date.parse(until)) {
        clock.advance(dayMs);
        await readAndReport();
      }
      setClock(until);
      await readAndReport();
    },
    work(id, seconds, changes = {}) {
      items.set(id, { memberId, seconds, labels: 1, at: toInstant(clock.now()), ...changes });
    },
    edit(id, seconds) {
      const piece = items.get(id);
      if (piece === undefined) throw new Error(`there is no ${id}`);
      items.set(id, { ...piece, seconds, changedAt: toInstant(clock.now()) });
    },
    reported(ofContract = contractId) {
      const contract = sandbox.snapshot().contracts.find(({ id }) => id === ofContract);
      return Object.fromEntries((contract?.usage ?? []).map(({ workDate, totalSeconds }) => [workDate, totalSeconds]));
    },
    async held(filter) {
      return (await listHeld(ctx, filter)).map(({ day, counts, reason }) => `${day} ${counts.seconds} ${reason}`);
    },
    async late() {
      return (await listLate(ctx, ['acme'])).map(({ day, from, to }) => `${day} ${from.seconds} → ${to.seconds}`);
    },
    async decide(ofContract, seconds) {
      await decideHeld(ctx, by, await idOfHeld(seconds), ofContract);
    },
    async takeBack(seconds) {
      await takeBackDecision(ctx, by, await idOfHeld(seconds));
    },
    async decideLate(isSent) {
      const [one] = await listLate(ctx, ['acme']);
      await decideLate(ctx, by, one?.id ?? '', isSent);
    },
    async end() {
      sandbox.endContract(contractId);
      await world.learn();
    },
    async hireAgain(startDate) {
      const trainers = [{ opentrainUserId: trainerId }];
      const hired = sandbox.hire({ jobId, trainers, ...(startDate !== undefined && { startDate }) });
      await world.learn();
      return hired.contractId;
    },
  };
}
