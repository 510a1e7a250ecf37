import { newDelivery } from '../deliveries.ts';
import { createFakeClock, type FakeClock } from '../fake-clock.ts';
import { type Agenda, createAgenda } from './agenda.ts';
import type { BridgeLife, StoryPlan } from './alphabet.ts';
import { readEveryMin, restMin } from './bounds.ts';
import {
  type BridgeWatch,
  type Databases,
  type LivingBridge,
  openLivingBridge,
  outagesOf,
  retriesMin,
} from './bridge-life.ts';
import { type Checks, createChecks } from './checks.ts';
import { type CustomerName, customerNames } from './market.ts';
import { clockOf, createMarketApi } from './market-api.ts';
import { type Arrival, createStory, installOf, noteHeard, rename, type Story, sayEvent, type World } from './story.ts';
import { createFleetAdapter } from './story-tool.ts';

/** Stories that know nothing of each other are lived by one bridge, so that many take little time. */
export interface Lived {
  plan: StoryPlan;
  /** What was wrong, in words; nothing where it was all right. */
  wrongs: readonly string[];
  /** What happened, minute by minute. */
  lines: readonly string[];
}

const minute = 60_000;
/** Where nothing happens any more, so many minutes are looked at together. */
const restStepMin = 15;
/** So long after the last that happened, nothing is under way any more. */
const settledMin = 30;

export async function liveTogether(
  databases: Databases,
  life: BridgeLife,
  plans: readonly StoryPlan[],
): Promise<Lived[]> {
  const clock = createFakeClock();
  const beginMs = clock.now().getTime();
  const agenda = createAgenda();
  const nowMs = () => agenda.momentMs() ?? clock.now().getTime();
  const outages = outagesOf(life, beginMs);
  const door: Door = { isOpen: true, arrivals: [], vital: [], read: new Set(), approve: new Set() };
  const world: World = {
    nowMs,
    beginMs,
    at: agenda.at,
    nextOutage: (afterMs) => outages.find(({ untilMs }) => untilMs > afterMs),
    ask(what, installs) {
      for (const install of installs) door[what].add(install);
    },
    arrive: (arrival) => arrive(arrival, door, agenda, nowMs),
  };
  const lives = plans.map((plan, index) => {
    const story = createStory(plan, `-${index}`, life.tool, world);
    return { story, checks: createChecks(story, nowMs) };
  });
  const strange: Strange = { isThere: false };
  const adapter = toAdapter(life, lives, strange);
  const bridge = await openLivingBridge({
    databases,
    outages,
    beginMs,
    setup: { clock, readEveryMin, isBraked: life.isBraked, adapter },
    apis: () => toApis(lives, nowMs),
    toolUrl: () => `https://${strange.isThere ? 'another' : 'studio'}.example`,
    watch: toWatch(lives, door, world, strange),
  });
  const lastOutageMs = Math.max(beginMs, ...outages.map(({ untilMs }) => untilMs));
  try {
    await liveAll({ lives, life, bridge, clock, agenda, door, beginMs, lastOutageMs });
  } finally {
    await bridge.close();
  }
  return lives.map(({ story, checks }) => ({ plan: story.plan, wrongs: checks.wrongs(), lines: story.lines() }));
}

interface Life {
  story: Story;
  checks: Checks;
}

/** What waits for the bridge's next turn. */
interface Door {
  isOpen: boolean;
  arrivals: Arrival[];
  /** What nothing else would ever tell, with when it came in. */
  vital: { arrival: Arrival; atMs: number }[];
  read: Set<string>;
  approve: Set<string>;
}

function arrive(arrival: Arrival, door: Door, agenda: Agenda, nowMs: () => number): void {
  if (door.isOpen) {
    door.arrivals.push(arrival);
    return;
  }
  const { story, raised, attempts } = arrival;
  const waitMin = retriesMin[attempts] ?? (raised.isVital ? 60 : null);
  if (waitMin === null) {
    story.log(`  ${sayEvent(raised)} is given up`);
    return;
  }
  const again = { ...arrival, attempts: attempts + 1 };
  agenda.at(nowMs() + waitMin * minute, () => arrive(again, door, agenda, nowMs));
}

/** Whether the configured address of the tool is that of another server. */
interface Strange {
  isThere: boolean;
}

function toWatch(lives: readonly Life[], door: Door, world: World, strange: Strange): BridgeWatch {
  return {
    onStrangeTool(untilMs) {
      strange.isThere = untilMs !== null;
      const says = untilMs === null ? 'the right one again' : 'another server';
      for (const { story } of lives) {
        story.log(`the configured tool is ${says}`);
        story.disturb(untilMs ?? world.nowMs());
      }
    },
    onDown() {
      door.isOpen = false;
      for (const { story } of lives) story.log('the bridge goes down');
    },
    onBack(backupMs, isSaid) {
      door.isOpen = true;
      for (const { story } of lives) comeBack(story, world.nowMs(), backupMs, isSaid);
      const lost = backupMs === null ? [] : door.vital.filter(({ atMs }) => atMs >= backupMs);
      for (const { arrival } of lost) {
        world.at(world.nowMs() + minute, () => world.arrive(arrival));
      }
    },
  };
}

function comeBack(story: Story, nowMs: number, backupMs: number | null, isSaid: boolean): void {
  const how = isSaid ? 'and is restored by name' : 'and is not said to be restored';
  const older = backupMs === null ? '' : `, with its database of ${clockOf(backupMs)}, ${how}`;
  story.log(`the bridge comes back${older}`);
  story.disturb(nowMs);
  rename(story, nowMs);
  if (backupMs === null) return;
  story.heard.forget(backupMs);
  for (const [seat, atMs] of story.addedAt) if (atMs >= backupMs) story.forgotten.add(seat);
}

interface Living {
  lives: readonly Life[];
  life: BridgeLife;
  bridge: LivingBridge;
  clock: FakeClock;
  agenda: Agenda;
  door: Door;
  beginMs: number;
  lastOutageMs: number;
}

async function liveAll(living: Living): Promise<void> {
  const { lives, bridge, clock, agenda, door, beginMs, lastOutageMs } = living;
  for (const install of installsOf(lives)) door.read.add(install);
  const lastMs = () => Math.max(agenda.lastMs(), lastOutageMs);
  const isOver = (atMs: number) => {
    const disturbedMs = lives.map(({ story }) => story.disturbedUntilMs());
    return atMs > Math.max(lastMs(), ...disturbedMs) + restMin * minute;
  };
  for (let at = Math.ceil(beginMs / minute); !isOver(at * minute); at += 1) {
    const atMs = at * minute;
    clock.advance(atMs - clock.now().getTime());
    await bridge.live(atMs);
    const hasHappened = agenda.run(atMs);
    const isResting = atMs > lastMs() + settledMin * minute;
    if (isResting && at % restStepMin !== 0 && !hasHappened) {
      // It is there all the time: what came while no bridge ran would have to be asked for.
      if (bridge.isUp()) await bridge.now().beat();
      continue;
    }
    if (isResting) await changeConfiguration(living);
    if (bridge.isUp()) await turn(living, isResting);
  }
}

/** What an operator has changed, and no outage came after it. */
async function changeConfiguration({ lives, bridge }: Living): Promise<void> {
  if (lives.some(({ story }) => story.toRename.size > 0)) await bridge.restart();
}

/** What comes in is stored; what an operator asks for is done; and then all that is due. */
async function turn({ lives, bridge, clock, door }: Living, isResting: boolean) {
  const now = bridge.now();
  await receive(bridge, door, clock);
  const known = installsOf(lives);
  const toRead = known.filter((install) => door.read.has(install));
  // In the end an operator decides about all that is held.
  const toApprove = isResting ? known : known.filter((install) => door.approve.has(install));
  door.read.clear();
  door.approve.clear();
  if (toRead.length > 0) await now.wantRead(toRead);
  if (toApprove.length > 0) await now.approve(new Set(toApprove));
  await now.turn();
  for (const { checks } of lives) checks.look();
  const said = new Set(await now.saidRemoved());
  for (const { checks } of lives) checks.lookAtSaid(said);
}

async function receive(bridge: LivingBridge, door: Door, clock: FakeClock): Promise<void> {
  const arrivals = door.arrivals.splice(0);
  if (arrivals.length === 0) return;
  const receivedAt = clock.now().toISOString();
  const atMs = clock.now().getTime();
  await bridge
    .now()
    .receive(
      arrivals.map(({ story, customer, raised: { body } }) =>
        newDelivery(body, { install: installOf(story, customer), receivedAt }),
      ),
    );
  for (const arrival of arrivals) {
    const { story, raised } = arrival;
    if (raised.isVital) door.vital.push({ arrival, atMs });
    noteHeard(story, raised, atMs);
    story.log(`  ${sayEvent(raised)} comes in`);
  }
}

function installsOf(lives: readonly Life[]): string[] {
  return lives.flatMap(({ story }) => customerNames.map((name) => installOf(story, name)));
}

function toAdapter({ tool, strangeTool }: BridgeLife, lives: readonly Life[], strange: Strange) {
  const byRun = new Map(lives.map((one) => [one.story.run, one]));
  const find = (run: string) => {
    const one = byRun.get(run);
    if (one === undefined) throw new Error(`no story ${run}`);
    const { story, checks } = one;
    const watch = {
      onLook: (group: string, trainer: string) => void story.forgotten.delete(`${group}/${trainer}`),
      onAdd: (group: string, trainer: string) => checks.onAdd(`${group}/${trainer}`, strange.isThere),
      onRemove: (group: string, trainer: string, memberId: string) => {
        // A trainer with an account under the present address as well stays in when one under an old address goes.
        const staysIn = story.tool.hasAnother(group, memberId, story.market.emailOf(trainer));
        checks.onRemove(`${group}/${trainer}`, strange.isThere, staysIn);
      },
    };
    return { tool: story.tool, watch };
  };
  const isStrange = () => strange.isThere;
  return createFleetAdapter({ kind: tool, find, isStrange, identifies: strangeTool?.identifies ?? false });
}

function toApis(lives: readonly Life[], nowMs: () => number) {
  return new Map(
    lives.flatMap(({ story }) =>
      customerNames.map((name) => [installOf(story, name), toApi(story, name, nowMs)] as const),
    ),
  );
}

function toApi({ market, archive, heard, log, reading, plan }: Story, name: CustomerName, nowMs: () => number) {
  const weather = (of: CustomerName) => {
    const found = reading.get(of);
    if (found === undefined) throw new Error(`no customer ${of}`);
    return found;
  };
  const { isEndedCutOff } = plan;
  return createMarketApi({ market, archive, heard, weather, isEndedCutOff, nowMs, log }, name);
}
