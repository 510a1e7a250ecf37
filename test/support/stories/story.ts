import type { After, Step, StepKind, StoryPlan, ToolKind } from './alphabet.ts';
import { createHeard, type Heard } from './heard.ts';
import { type CustomerName, createMarket, customerNames, type Happening, type Market, type Raised } from './market.ts';
import { type Archive, clockOf, createArchive, createReadingWeather, type ReadingWeather } from './market-api.ts';
import { createStoryTool, type StoryTool } from './story-tool.ts';
import { createTruth, type Truth } from './truth.ts';

/**
 * One story as it is lived: what happens in the market, what of it the bridge hears and when,
 * and in which weather. What is checked of it is in `checks.ts`.
 */
export interface Story {
  run: string;
  plan: StoryPlan;
  market: Market;
  truth: Truth;
  heard: Heard;
  tool: StoryTool;
  archive: Archive;
  reading: ReadonlyMap<CustomerName, ReadingWeather>;
  /** How the bridge knows a customer by now, and since when. */
  names: Map<CustomerName, { install: string; sinceMs: number }>;
  /** Customers whose name changes when the bridge is started the next time. */
  toRename: Set<CustomerName>;
  /** When something was in the way of the bridge, of any kind, for the last time. */
  disturbedUntilMs(): number;
  disturb(untilMs: number): void;
  /** When another hand took a trainer out. */
  handsAt: Map<string, number>;
  /** When the bridge added a person, as `project/trainer`. */
  addedAt: Map<string, number>;
  /**
   * The trainers that the bridge has added without knowing it, and has not looked for since: before its database was put back, or
   * by a call that was done after the next reading.
   */
  forgotten: Set<string>;
  log(text: string): void;
  lines(): string[];
}

/** Something that comes in, at the bridge's door. */
export interface Arrival {
  story: Story;
  customer: CustomerName;
  raised: Raised;
  /** How often it was tried in vain. */
  attempts: number;
}

/** What a story needs of those who live it. */
export interface World {
  nowMs(): number;
  beginMs: number;
  /** When the bridge goes down or comes back next, at or after an instant. */
  nextOutage(afterMs: number): { fromMs: number; untilMs: number } | undefined;
  at(ms: number, happen: (ms: number) => void): void;
  arrive(arrival: Arrival): void;
  /** Has installs read, or plans approved, at the bridge's next turn. */
  ask(what: 'read' | 'approve', installs: string[]): void;
}

const minute = 60_000;

export function createStory(plan: StoryPlan, run: string, kind: ToolKind, world: World): Story {
  const lines: string[] = [];
  let disturbedUntilMs = 0;
  const log = (text: string) => void lines.push(`${clockOf(world.nowMs())} ${text}`);
  const disturb = (untilMs: number) => {
    disturbedUntilMs = Math.max(disturbedUntilMs, untilMs);
  };
  const market = createMarket(run, world.beginMs);
  const { nowMs } = world;
  const story: Story = {
    run,
    plan,
    market,
    log,
    disturb,
    truth: createTruth(market),
    heard: createHeard(),
    archive: createArchive(market),
    reading: new Map(customerNames.map((name) => [name, createReadingWeather()])),
    tool: createStoryTool({
      kind,
      run,
      nowMs,
      log,
      onTrouble: () => disturb(nowMs()),
      afterMin: (min, act) =>
        world.at(nowMs() + min * minute, (ms) => {
          act();
          disturb(ms);
        }),
      onArrived(seat, askedAtMs) {
        const readAtMs = customerNames.map((name) => story.heard.lastAt(`links ${name}`, nowMs()) ?? 0);
        if (Math.max(...readAtMs) > askedAtMs) story.forgotten.add(seat);
      },
    }),
    names: new Map(customerNames.map((name) => [name, { install: name + run, sinceMs: world.beginMs }])),
    toRename: new Set(),
    disturbedUntilMs: () => disturbedUntilMs,
    handsAt: new Map(),
    addedAt: new Map(),
    forgotten: new Set(),
    lines: () => lines,
  };
  story.truth.note(world.beginMs, 'contract_ended');
  story.archive.keep(world.beginMs);
  schedule(story, world);
  return story;
}

function schedule(story: Story, world: World): void {
  // So that each install has been read once before anything happens.
  let atMs = world.beginMs + 2 * minute;
  for (const [index, step] of story.plan.steps.entries()) {
    // No two things happen at the same instant.
    atMs = Math.max(atMs, whenAfter(step.after, atMs, world)) + 7;
    world.at(atMs + index, (ms) => take(story, world, step, ms));
  }
}

function whenAfter(after: After, atMs: number, world: World): number {
  if (typeof after === 'number') return atMs + after * minute;
  const outage = world.nextOutage(atMs);
  if (outage === undefined) return atMs + 5 * minute;
  return (after.to === 'down' ? outage.fromMs : outage.untilMs) + after.byMin * minute;
}

function take(story: Story, world: World, step: Step, atMs: number): void {
  if (isTrouble(step.kind)) troubles[step.kind](story, world, step, atMs);
  else happen(story, world, step as Step & { kind: Happening }, atMs);
}

function happen(
  story: Story,
  world: World,
  step: Pick<Step, 'customer' | 'slot' | 'job' | 'people' | 'delaysMin'> & { kind: Happening },
  atMs: number,
): void {
  const { market, truth, archive } = story;
  const { kind, customer, slot, job, people, delaysMin } = step;
  const linksBefore = market.of(customer).links;
  const { raised, ending } = market.happen(kind, customer, step, atMs);
  truth.note(atMs, ending);
  archive.keep(atMs);
  story.log(`${customer}: ${kind} (${slot}, ${job}, ${people.join(' and ')})`);
  for (const [index, event] of raised.entries()) {
    // Whether it is heard does not depend on how many people are on it.
    const line = kind === 'renew' ? Number(event.type === 'contract.ended') : index;
    send(story, world, customer, event, delaysMin[line % delaysMin.length] ?? []);
  }
  if (kind === 'reconnect') {
    readOften(story, world, customer, atMs + 60 * minute);
    linkAgain(story, world, step, linksBefore, atMs);
  }
  if (kind === 'unlink_for_a_while') {
    const gone = linksBefore.filter((link) => !market.of(customer).links.includes(link));
    linkAgain(story, world, step, gone, atMs);
  }
  if (kind === 'mistaken_end') story.disturb(atMs + Math.max(0, ...delaysMin.flat()) * minute);
}

/** Each delivery of an event comes in after so many minutes; without any it is lost. */
function send(story: Story, world: World, customer: CustomerName, raised: Raised, delaysMin: readonly number[]): void {
  const coming = delaysMin.length === 0 && raised.isVital ? [0] : delaysMin;
  if (coming.length === 0) story.log(`  ${sayEvent(raised)} is lost`);
  for (const delay of coming) {
    world.at(world.nowMs() + delay * minute, () => world.arrive({ story, customer, raised, attempts: 0 }));
  }
}

/** Links that are gone are made again, sooner or later or never. */
function linkAgain(
  story: Story,
  world: World,
  step: Pick<Step, 'customer' | 'people' | 'delaysMin'> & { forMin?: number | null },
  links: readonly { project: string; job: string }[],
  atMs: number,
): void {
  const { forMin = null } = step;
  if (forMin === null) return;
  const lastDelays = step.delaysMin.slice(-1);
  for (const { project, job } of links) {
    if (job !== 'j1' && job !== 'j2') continue;
    const slot = project.startsWith('signs') ? 'a' : 'b';
    world.at(atMs + forMin * minute + 1, (ms) =>
      happen(story, world, { ...step, kind: 'link', slot, job, delaysMin: lastDelays }, ms),
    );
  }
}

/** As often as by the usual schedule, while it is so. */
function readOften(story: Story, world: World, customer: CustomerName, untilMs: number): void {
  for (const min of [0, 12, 24, 36, 60]) {
    const atMs = world.nowMs() + min * minute;
    if (atMs > untilMs) continue;
    world.at(atMs, () => world.ask('read', [installOf(story, customer)]));
  }
}

type Trouble = Exclude<StepKind, Happening>;

/** What is no happening of the market. */
const troubles: Record<Trouble, (story: Story, world: World, step: Step, atMs: number) => void> = {
  read: (story, world, { customer }) => world.ask('read', [installOf(story, customer)]),
  approve(story, world) {
    const installs = customerNames.map((name) => installOf(story, name));
    world.ask('approve', installs);
  },
  rename: (story, _, { customer }) => void story.toRename.add(customer),
  list_cut(story, world, { customer, slot, forMin }, atMs) {
    const untilMs = atMs + (forMin ?? 30) * minute;
    readingOf(story, customer).cut = { slot, untilMs };
    tell(story, `${customer}: lists lack what hangs on ${slot}`, untilMs);
    readOften(story, world, customer, untilMs);
  },
  reads_old(story, world, { customer, forMin }, atMs) {
    // An end that such a read contradicts, and that no list shows, could never be known.
    if (story.plan.isEndedCutOff) return;
    const untilMs = atMs + (forMin ?? 120) * minute;
    readingOf(story, customer).old = { lagMs: 90 * minute, untilMs };
    tell(story, `${customer}: reads are up to 90 minutes old`, untilMs);
    readOften(story, world, customer, untilMs);
  },
  list_seconds_old(story, world, { customer, forMin }, atMs) {
    const untilMs = atMs + (forMin ?? 60) * minute;
    readingOf(story, customer).old = { lagMs: 20_000, untilMs };
    tell(story, `${customer}: reads are some seconds old`, untilMs);
    readOften(story, world, customer, untilMs);
  },
  unreadable(story, _, { customer, forMin }, atMs) {
    const untilMs = atMs + (forMin ?? 240) * minute;
    readingOf(story, customer).refusedUntilMs = untilMs;
    tell(story, `${customer}: the token is refused`, untilMs);
  },
  tokens_swapped(story, world, { forMin }, atMs) {
    // Longer than anything is waited for, where it is not looked into.
    const untilMs = atMs + (forMin ?? 40 * 60) * minute;
    for (const name of customerNames) readingOf(story, name).swappedUntilMs = untilMs;
    tell(story, 'the tokens of both are swapped', untilMs);
    for (const name of customerNames) readOften(story, world, name, untilMs);
  },
  tool_loses_answer(story) {
    story.tool.weather.losesAnswers += 1;
    story.log('tool: the next answer is going to be lost');
  },
  tool_is_late(story, _, { forMin }) {
    Object.assign(story.tool.weather, { isLate: 1, lateByMin: Math.min(30, (forMin ?? 1) + 1) });
    story.log('tool: the next change is going to be late');
  },
  tool_down(story, _, { forMin }, atMs) {
    const untilMs = atMs + (forMin ?? 120) * minute;
    story.tool.weather.downUntilMs = untilMs;
    tell(story, 'tool: is down', untilMs);
  },
  tool_misses_once(story) {
    story.tool.weather.misses += 1;
    story.log('tool: the next look is going to show no member');
  },
  tool_lags(story) {
    story.tool.weather.lags = true;
    story.log('tool: the next change is going to be seen late');
  },
  hand_removes(story, _, { slot, people }, atMs) {
    const group = (slot === 'a' ? 'signs' : 'lamps') + story.run;
    const trainer = people[0] + story.run;
    // Where nothing can be listed, it would never be found out.
    if (story.tool.inner.adapter.listMembers === undefined) return;
    const mail = story.market.emailOf(trainer);
    for (const { id } of story.tool.inner.roster(group)) {
      if (id !== trainer && id !== mail) continue;
      story.tool.inner.unseat(group, id);
      story.handsAt.set(`${group}/${trainer}`, atMs);
      story.log(`tool: another hand takes out ${group}/${trainer}`);
    }
  },
};

function isTrouble(kind: StepKind): kind is Trouble {
  return kind in troubles;
}

function tell(story: Story, says: string, untilMs: number): void {
  story.log(`${says} until ${clockOf(untilMs)}`);
  story.disturb(untilMs);
}

function readingOf({ reading }: Story, customer: CustomerName): ReadingWeather {
  const weather = reading.get(customer);
  if (weather === undefined) throw new Error(`no customer ${customer}`);
  return weather;
}

export function installOf({ names }: Story, customer: CustomerName): string {
  return names.get(customer)?.install ?? customer;
}

export function sayEvent({ type, names }: Raised): string {
  return [type, ...Object.values(names)].join(' ');
}

/** What the bridge knows by an event that came in. */
export function noteHeard({ heard }: Story, { type, names, createdAtMs }: Raised, atMs: number): void {
  const { link, contract, trainer } = names;
  if (contract === undefined || link === undefined || trainer === undefined) return;
  heard.note(`pair ${contract} ${link}`, createdAtMs, atMs);
  heard.note(`on ${contract} ${trainer}`, createdAtMs, atMs);
  if (type === 'contract.ended') heard.note(`end of ${contract}`, createdAtMs, atMs);
}

/** What an operator changed in the configuration is so from the next start on. */
export function rename({ names, toRename, run, log }: Story, nowMs: number): void {
  for (const name of toRename) {
    const install = `${name}-renamed${run}`;
    names.set(name, { install, sinceMs: nowMs });
    log(`${name} is called ${install} from now on`);
  }
  toRename.clear();
}
