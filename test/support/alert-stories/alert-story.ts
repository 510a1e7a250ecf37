import { expect, it } from 'vitest';
import type { AlertKind } from '../../../src/lib/troubles.ts';
import { type Alerting, createAlerting } from '../alerting.ts';
import type { OpenFresh } from '../databases.ts';
import { inStudio } from '../engine-harness.ts';
import { createIncident, type Incident } from '../incident.ts';
import { describeAnyDatabase } from '../tries.ts';

/** How a kind of alert comes about by its real cause, and how it ends. */
export type AlertStory = (openFresh: OpenFresh) => Promise<AlertStage>;

export interface AlertStage {
  alerting: Pick<Alerting, 'ask' | 'announced' | 'standing'>;
  /** Has the trouble found, the first time and again. */
  find(): Promise<unknown>;
  /** Ends the trouble. Left out where an alert is over at once. */
  end?(): Promise<unknown>;
}

export type AlertStories = Partial<Record<AlertKind, AlertStory>>;

/** Each alert is announced once by its cause, and its end once, however often it is found and asked. */
export function tellStories(stories: AlertStories): void {
  describeAnyDatabase('an alert is announced once, and so is its end:', (openFresh) => {
    it.each(Object.entries(stories) as [AlertKind, AlertStory][])('%s', async (kind, open) => {
      await tellStory(kind, await open(openFresh));
    });
  });
}

async function tellStory(kind: AlertKind, { alerting, find, end }: AlertStage): Promise<void> {
  const seen = async () => [await alerting.announced(kind), await alerting.standing(kind)];
  expect(await seen()).toEqual([[], 0]);
  for (let turn = 0; turn < 3; turn += 1) {
    await find();
    await alerting.ask();
    expect(await seen()).toEqual(end === undefined ? [['raised and over'], 0] : [['raised'], 1]);
  }
  if (end === undefined) return;
  await end();
  for (let turn = 0; turn < 3; turn += 1) {
    await alerting.ask();
    expect(await seen()).toEqual([['raised', 'over'], 0]);
  }
}

type IncidentOptions = Parameters<typeof createIncident>[1];

export async function openIncident(
  openFresh: OpenFresh,
  { tool, ...options }: IncidentOptions = {},
): Promise<{ incident: Incident; alerting: Alerting }> {
  const installs = new Map(['acme', 'globex'].map((name) => [name, inStudio()]));
  const walls = { installs, adapters: new Map(tool && [['studio', tool.adapter]]) };
  const alerting = createAlerting(tool && walls);
  const heard = { ...options, ...(tool && { tool, walls }), hears: alerting.hears };
  return { alerting, incident: createIncident(await openFresh(), heard) };
}
