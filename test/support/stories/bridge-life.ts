import { randomBytes } from 'node:crypto';
import type { BridgeLife } from './alphabet.ts';
import { type BridgeSetup, openBridge, type StoryBridge } from './bridge.ts';

/** One bridge over its life: it goes down and comes back, with the database it had or an older one. */
export interface LivingBridge {
  isUp(): boolean;
  now(): StoryBridge;
  /** Does what is due by its life in this minute. */
  live(atMs: number): Promise<void>;
  /** For a minute, as after a change of the configuration. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export interface Outage {
  fromMs: number;
  untilMs: number;
  /** With a database of so many minutes before it went down. */
  backMin: number | null;
  isSaid: boolean;
  /** For so many minutes after it came back, the tool is another server. */
  strangeForMin: number;
}

/** Databases of a kind, for one bridge after another. */
export interface Databases {
  create(): Promise<string>;
  /** Keeps a copy of one that no process has open. @returns where */
  backUp(url: string): Promise<string>;
  /** Puts a copy where one was that no process has open. @returns where the database is now */
  restore(backup: string, url: string): Promise<string>;
}

export interface BridgeWatch {
  onDown(): void;
  /** @param backupMs of when its database is, where it is not the one it had */
  onBack(backupMs: number | null, isSaid: boolean): void;
  /** @param untilMs until when the tool is another server; not given once it is the right one */
  onStrangeTool(untilMs: number | null): void;
}

const minute = 60_000;

export function outagesOf({ outages, restore, strangeTool }: BridgeLife, beginMs: number): Outage[] {
  let atMs = beginMs;
  return outages.map(({ afterMin, forMin }, index) => {
    const fromMs = atMs + afterMin * minute;
    atMs = fromMs + forMin * minute;
    const isRestored = restore !== null && restore.outage === index;
    const backMin = isRestored ? restore.backMin : null;
    const strangeForMin = strangeTool?.outage === index ? strangeTool.forMin : 0;
    return { fromMs, untilMs: atMs, backMin, isSaid: restore?.isSaid ?? false, strangeForMin };
  });
}

interface Parts {
  databases: Databases;
  outages: readonly Outage[];
  beginMs: number;
  setup: Omit<BridgeSetup, 'url' | 'key' | 'apis' | 'toolUrl'>;
  apis(): BridgeSetup['apis'];
  toolUrl(): string;
  watch: BridgeWatch;
}

export async function openLivingBridge(parts: Parts): Promise<LivingBridge> {
  const { databases, outages, beginMs, watch } = parts;
  const setup = { ...parts.setup, url: await databases.create(), key: randomBytes(32) };
  const open = (start?: { isRestored: boolean }) =>
    openBridge({ ...setup, apis: parts.apis(), toolUrl: parts.toolUrl() }, start);
  let bridge = await open({ isRestored: false });
  let isUp = true;
  let backup: { seat: string; atMs: number } | null = null;

  /** The bridge goes on; its database is kept as it is now. */
  async function backUp(atMs: number): Promise<void> {
    if (isUp) await bridge.close();
    backup = { seat: await databases.backUp(setup.url), atMs };
    if (isUp) bridge = await open();
  }

  async function goDown(): Promise<void> {
    isUp = false;
    watch.onDown();
    await bridge.close();
  }

  async function comeBack({ backMin, isSaid }: Pick<Outage, 'backMin' | 'isSaid'>): Promise<void> {
    const older = backMin === null ? null : backup;
    if (older !== null) setup.url = await databases.restore(older.seat, setup.url);
    watch.onBack(older?.atMs ?? null, isSaid);
    bridge = await open({ isRestored: older !== null && isSaid });
    isUp = true;
  }

  async function restart(): Promise<void> {
    await goDown();
    await comeBack({ backMin: null, isSaid: false });
  }

  /** The address of the tool is changed in the configuration, which takes a start. */
  async function restartWith(strangeUntilMs: number | null): Promise<void> {
    watch.onStrangeTool(strangeUntilMs);
    if (isUp) await restart();
  }

  const schedule = outages.flatMap((outage): Scheduled[] => {
    const { fromMs, untilMs, backMin } = outage;
    const backupMs = Math.max(beginMs + 5 * minute, fromMs - (backMin ?? 0) * minute);
    return [
      ...(backMin === null ? [] : [{ ms: backupMs, act: () => backUp(backupMs) }]),
      { ms: fromMs, act: goDown },
      { ms: untilMs, act: () => comeBack(outage) },
    ];
  });

  const strangers = outages
    .filter(({ strangeForMin }) => strangeForMin > 0)
    .flatMap(({ untilMs, strangeForMin }): Scheduled[] => {
      const endMs = untilMs + strangeForMin * minute;
      return [
        { ms: untilMs, act: () => restartWith(endMs) },
        { ms: endMs, act: () => restartWith(null) },
      ];
    });

  return {
    isUp: () => isUp,
    now: () => bridge,
    live: (atMs) => doDue([...schedule, ...strangers], atMs),
    restart,
    async close() {
      if (isUp) await bridge.close();
    },
  };
}

interface Scheduled {
  ms: number;
  act(): Promise<void>;
}

/** What happens in the minute that ends then. */
async function doDue(schedule: readonly Scheduled[], atMs: number): Promise<void> {
  const due = schedule.filter(({ ms }) => ms > atMs - minute && ms <= atMs);
  for (const { act } of due) await act();
}

/** What comes in while no bridge runs is tried again after so many minutes, each after the last. */
export const retriesMin = [1, 5, 30, 120];
