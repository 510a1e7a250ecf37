import { describe, expect, it } from 'vitest';
import { createMemoryTool } from '../../support/memory-tool.ts';
import { until } from '../../support/until.ts';
import type { VisitedPage } from '../../support/visitor.ts';
import { openSignedIn, signIn } from './signed-in.ts';

const minuteMs = 60_000;

/** A tool that lists its members, and a customer with one trainer in it. */
async function openGroup() {
  const tool = createMemoryTool('membership', { lists: true });
  const journey = await openSignedIn('otto', { adapter: tool.adapter });
  const { sandbox, customer, quiet, pass, clock, storage, visitor: otto } = journey;
  await customer.link('street-signs');
  const { trainers } = sandbox.hire({ jobId: customer.jobId });
  const trainerId = trainers[0]?.opentrainUserId ?? '';
  await quiet();
  /** Has the customer read, which lists the group. */
  async function read(): Promise<void> {
    await pass(2 * minuteMs);
    const since = clock.now().getTime() - minuteMs;
    await otto.press(await otto.visit('/'), 'Sync now');
    const listings = () => storage.database.kysely.selectFrom('driftListing').select('listedAt').execute();
    await until('the group is listed', listings, ([one]) => Date.parse(one?.listedAt ?? '') > since);
    await quiet();
  }
  const { visitor: vera } = await signIn(journey, 'vera');
  const rowsOf = (text: string, part: string) => text.split('\n').filter((line) => line.includes(part));
  return { ...journey, tool, trainerId, read, otto, vera, rowsOf };
}

function sinceOf({ html }: VisitedPage): string | undefined {
  return html.querySelector('td[data-label=Since] time')?.getAttribute('datetime');
}

describe('the page of drift', () => {
  it('says what would stand there before a group was listed', async () => {
    const { visitor } = await openSignedIn('vera');
    const page = await visitor.visit('/drift');
    expect(page.text).toContain('Nothing differs, as far as the groups were listed.');
    expect((await visitor.visit('/drift?side=none')).status).toBe(400);
    expect((await visitor.visit('/drift/groups')).text).toContain('No group was listed yet.');
  });

  it('names strangers since when they are in, with whole addresses for operators alone', async () => {
    const { tool, read, otto, vera, rowsOf } = await openGroup();
    tool.seed('street-signs', 's1', 'ann@elsewhere.example');
    await read();
    const [first = ''] = rowsOf((await otto.visit('/drift')).text, 'ann@elsewhere.example');
    expect(first).toMatch(
      /^ann@elsewhere\.example, id s1 \| street-signs list \| not a known trainer \| .* \| nothing: Gangway leaves strangers alone$/,
    );
    const page = await vera.visit('/drift');
    expect(page.body).not.toContain('ann@elsewhere.example');
    expect(rowsOf(page.text, 'a…@elsewhere.example, id s1 |')).toHaveLength(1);
    expect(rowsOf(page.text, 'Removed')).toEqual([]);
    await read();
    const later = await otto.visit('/drift?side=extra');
    expect(sinceOf(later)).toBe(sinceOf(page));
    tool.unseat('street-signs', 's1');
    await read();
    expect((await otto.visit('/drift')).text).not.toContain('elsewhere.example');
  });

  it('names a trainer who should be in and was not, and what became of it', async () => {
    const { tool, trainerId, read, vera, rowsOf } = await openGroup();
    const [memberId = ''] = tool.members('street-signs');
    tool.unseat('street-signs', memberId);
    await read();
    const page = await vera.visit('/drift?side=missing');
    expect(page.html.querySelector('td a')?.getAttribute('href')).toBe(`/trainers/${trainerId}`);
    expect(rowsOf(page.text, 'should be in the tool, but is not')).toEqual([
      expect.stringMatching(/ \| Active \| Gangway checks again, and adds them back if they are not found$/),
    ]);
    expect(tool.members('street-signs')).toEqual([memberId]);
  });
});
