import { describe, expect, it } from 'vitest';
import type { UsageObservation } from '../../../src/adapters/adapter.ts';
import { readWork } from '../../../src/adapters/label-studio/label-studio-api.ts';
import type { ToolClient } from '../../../src/adapters/tool-request.ts';
import { parseAnswer } from '../../../src/lib/rest-client.ts';
import { openFakeLabelStudio } from '../../support/label-studio/fake-label-studio.ts';
import { createLabelStudio } from '../../support/label-studio/label-studio-harness.ts';
import { collectWork } from '../../support/read-work.ts';

const { signal } = new AbortController();
const request = { timeZone: 'UTC', firstDay: '2026-03-02', changedSince: null };
const annotation = {
  id: 5,
  completed_by: 17,
  was_cancelled: false,
  lead_time: 12.5,
  result: [{ id: 'x' }],
  created_at: '2026-03-02T08:00:00.000000Z',
  updated_at: '2026-03-02T09:00:00.000000Z',
};

/** A member, and a former member, masked by Label Studio. */
const users = [
  { id: 17, email: 'ada@opentrain.work' },
  { id: 18, email: 'deleted-18-user@example.com' },
];

/** The observations of one annotation. */
async function observationsOf(given: object): Promise<UsageObservation[]> {
  const page = { tasks: [{ id: 3, annotations: [{ ...annotation, ...given }] }], total: 1 };
  return await readPages([page]);
}

/** @param asked where the id and the instant of each request are added, after which it asks for tasks */
async function readPages(
  pages: unknown[],
  asked: unknown[][] = [],
  changedSince: string | null = null,
): Promise<UsageObservation[]> {
  const left = [...pages];
  function answerTo({ pathname, searchParams }: URL): unknown {
    if (pathname === '/api/users/') return users;
    const { filters } = JSON.parse(searchParams.get('query') ?? '') as { filters: { items: { value: unknown }[] } };
    asked.push(filters.items.map(({ value }) => value));
    return left.shift();
  }
  const call: ToolClient['call'] = async ({ path, answer, purpose }) =>
    parseAnswer(answer ?? never(), answerTo(new URL(path, 'http://fake')), purpose);
  const reading = readWork({ signal, call, download: never }, '8', { ...request, changedSince });
  return (await collectWork(reading)).work;
}

function never(): never {
  throw new Error('not needed');
}

describe('an annotation', () => {
  it('is one piece of work', async () => {
    expect(await observationsOf({})).toEqual([
      {
        of: 'item',
        memberId: '17',
        email: 'ada@opentrain.work',
        itemId: '5',
        taskId: '3',
        doneAt: annotation.created_at,
        changedAt: annotation.updated_at,
        seconds: 12.5,
        tasks: 1,
        labels: 1,
      },
    ]);
  });

  it.each([
    ['a whole user', { completed_by: { id: 17, email: 'a@example.com' } }, { memberId: '17' }],
    ['a masked user', { completed_by: 18 }, { memberId: '18', email: null }],
    ['a user who is not listed', { completed_by: 19 }, { memberId: '19', email: null }],
    ['a region of several entries', { result: [{ id: 'x' }, { id: 'x' }] }, { labels: 1 }],
    [
      'regions without an id, as a script wrote them',
      { result: [{ type: 'choices' }, { id: null }, { id: 'x' }] },
      { labels: 3 },
    ],
    ['relations, which have no id', { result: [{ type: 'relation' }] }, { labels: 0 }],
    ['no result', { result: null }, { labels: 0 }],
    ['a clock that ran backwards', { lead_time: -3 }, { seconds: 0 }],
    ['a skip', { was_cancelled: true }, { seconds: 12.5, tasks: 0, labels: 0 }],
  ])('of %s is counted', async (_what, given, expected) => {
    expect(await observationsOf(given)).toMatchObject([expected]);
  });

  it('that was imported has unknown seconds, not zero', async () => {
    const [observation] = await observationsOf({ lead_time: null });
    expect(observation).not.toHaveProperty('seconds');
  });

  it('of a deleted user is left out', async () => {
    expect(await observationsOf({ completed_by: null })).toEqual([]);
  });
});

describe('a reading', () => {
  const task = (id: number) => ({ id, annotations: [{ ...annotation, id }] });

  it('continues after the last task it has, for any number of tasks', async () => {
    const asked: unknown[][] = [];
    const pages = [
      { tasks: [task(3), task(9)], total: 3 },
      { tasks: [task(12)], total: 1 },
    ];
    expect((await readPages(pages, asked)).length).toBe(3);
    expect(asked.map(([afterId]) => afterId)).toEqual([0, 9]);
  });

  it.each([
    ['a page without the tasks that are to come', [{ tasks: [], total: 4 }]],
    ['the same page again', [1, 2].map(() => ({ tasks: [task(3)], total: 4 }))],
  ])('does not take %s for the end of the list', async (_what, pages) => {
    await expect(readPages(pages)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it.each([
    ['when the first day does somewhere', null, '2026-03-01T10:00:00.000Z'],
    ['a minute early', '2026-03-05T12:00:00.000Z', '2026-03-05T11:59:00.000Z'],
    ['not before the first day', '2026-01-05T12:00:00.000Z', '2026-03-01T10:00:00.000Z'],
  ])('begins %s', async (_when, changedSince, updatedSince) => {
    const asked: unknown[][] = [];
    await readPages([{ tasks: [], total: 0 }], asked, changedSince);
    expect(asked).toEqual([[0, updatedSince]]);
  });

  it('also has tasks without annotations', async () => {
    const fake = await openFakeLabelStudio();
    const { id: project } = fake.work.addProject('Deleting');
    fake.work.import(project, Array.from({ length: 3 }));
    const query = new URLSearchParams({ project: String(project) });
    const ids = fake.work.page(query)?.tasks.map(({ id }) => id) ?? [];
    const made = ids.map((id) => fake.work.annotate(id, 1, {})?.id ?? 0);
    fake.work.deleteAnnotation(made[0] ?? 0);
    fake.work.deleteTask(ids[1] ?? 0);
    const asked = { ...request, firstDay: new Date().toISOString().slice(0, 10) };
    const reading = createLabelStudio(fake).readUsage?.(String(project), asked, signal);
    const { tasks, work } = await collectWork(reading ?? []);
    expect(tasks).toEqual([String(ids[0]), String(ids[2])]);
    expect(work).toMatchObject([{ taskId: String(ids[2]) }]);
  });

  it('misses no task if others are deleted meanwhile', async () => {
    const fake = await openFakeLabelStudio();
    const { id: project } = fake.work.addProject('Deleting');
    fake.work.import(project, Array.from({ length: 250 }));
    const tasks = fake.work.page(new URLSearchParams({ project: String(project), page_size: '999' }));
    for (const { id } of tasks?.tasks ?? []) fake.work.annotate(id, 1, {});
    const today = new Date().toISOString().slice(0, 10);
    const asked = { ...request, firstDay: today };
    const seen = new Set<string>();
    const adapter = createLabelStudio(fake);
    for await (const one of adapter.readUsage?.(String(project), asked, signal) ?? []) {
      if (one.of !== 'item') continue;
      // With page numbers, tasks that move up would be skipped.
      if (seen.size < 90) fake.work.deleteTask(Number(one.taskId));
      seen.add(one.taskId);
    }
    expect(seen.size).toBe(250);
  });
});
