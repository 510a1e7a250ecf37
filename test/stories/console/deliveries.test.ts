import { describe, expect, it } from 'vitest';
import { sqlite } from '../../support/databases.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { type Journey, openJourney } from '../../support/journey.ts';
import { createVisitor, type VisitedPage } from '../../support/visitor.ts';

/** Rows of the table on a page, without its head. */
function rowsOf({ html }: VisitedPage): string[][] {
  return html
    .querySelectorAll('main tbody tr')
    .map((row) => row.querySelectorAll('td').map((cell) => cell.text.trim()));
}

async function deliverGarbage({ deliver, quiet }: Journey, count: number): Promise<void> {
  for (let number = 0; number < count; number += 1) expect((await deliver(`no event ${number}`)).status).toBe(200);
  await quiet();
}

describe('the deliveries', () => {
  it('say what came, what became of it and why, and have every byte of it', async () => {
    const journey = await openJourney(sqlite);
    const { consoleUrl, deliver, quiet } = journey;
    const body = JSON.stringify({
      ...JSON.parse(fullEvent({ type: 'contract.started' })),
      extra: '<script>alert(1)</script>',
    });
    await deliver(body);
    await deliver('no event');
    await quiet();
    const visitor = createVisitor(consoleUrl);
    await visitor.signIn('vera');
    const list = await visitor.visit('/deliveries');
    expect(rowsOf(list).map(([, , customer, type, state]) => [customer, type, state])).toEqual([
      ['acme', '', 'unprocessable'],
      ['acme', 'contract.started', 'handled'],
    ]);
    const handled = await visitor.visit('/deliveries?state=handled');
    const address = handled.html.querySelector('tbody a')?.getAttribute('href') ?? '';
    const shown = await visitor.visit(address);
    expect(shown.html.querySelector('pre')?.text).toBe(body);
    expect(shown.html.querySelectorAll('main script')).toEqual([]);
    const download = await visitor.send(`${address}/body`);
    expect(await download.text()).toBe(body);
    expect(download.headers.get('content-disposition')).toMatch(/^attachment; filename="?delivery-\d+"?$/);
    expect(download.headers.get('content-type')).toBe('application/octet-stream');
  });

  it('go on page by page, the filter in the address', async () => {
    const journey = await openJourney(sqlite);
    await deliverGarbage(journey, 55);
    const visitor = createVisitor(journey.consoleUrl);
    await visitor.signIn('vera');
    const filtered = await visitor.press(await visitor.visit('/deliveries'), 'Filter', { state: 'unprocessable' });
    expect(filtered.path).toBe('/deliveries?state=unprocessable&type=&install=');
    expect(rowsOf(filtered)).toHaveLength(50);
    const older = await visitor.visit(filtered.html.querySelector('a[rel=next]')?.getAttribute('href') ?? '');
    expect(rowsOf(older)).toHaveLength(5);
    expect(older.html.querySelector('a[rel=next]')).toBeNull();
    const ids = [filtered, older].flatMap((page) => rowsOf(page).map(([id]) => Number(id)));
    expect(ids).toEqual(Array.from({ length: 55 }, (_, index) => 55 - index));
    expect(await visitor.visit('/deliveries?state=nonsense')).toMatchObject({ status: 400 });
    expect((await visitor.visit('/deliveries?state=handled')).text).toContain('No delivery matches this filter.');
  });

  it('are replayed all that match a filter, beyond the page, and the result has an address', async () => {
    const journey = await openJourney(sqlite);
    const { storage, consoleUrl, deliver, quiet } = journey;
    await deliver(fullEvent({ type: 'contract.started' }));
    await deliverGarbage(journey, 55);
    await storage.database.kysely
      .updateTable('delivery')
      .set({ state: 'failed', failure: 'given up', nextAttemptAt: null })
      .where('state', '=', 'unprocessable')
      .execute();
    // Its body was not kept, so it is left as it is.
    await storage.database.kysely
      .updateTable('delivery')
      .set({ body: Buffer.alloc(0) })
      .where('id', '=', 7)
      .execute();
    const visitor = createVisitor(consoleUrl);
    await visitor.signIn('otto');
    const result = await visitor.press(await visitor.visit('/deliveries?state=failed'), 'Replay all that match');
    expect(result.path).toMatch(/^\/acts\/\d+$/);
    expect(result.text).toContain('54 of all that match state failed');
    const after = result.html.querySelector('pre')?.text ?? '';
    expect(after).toMatch(
      /^to be looked at again: 2, 3, 4, 5, 6, 8, .*, 56\nleft as they are, as their bodies were not kept: 7$/,
    );
    await quiet();
    expect(rowsOf(await visitor.visit('/deliveries?state=failed')).map(([id]) => id)).toEqual(['7']);
    expect((await visitor.visit(result.path)).text).toContain('otto');
    expect((await visitor.visit('/acts?actor=otto')).text).toContain('deliveries replay');
  });

  it('say why there is no body to show', async () => {
    const { storage, consoleUrl, deliver, quiet } = await openJourney(sqlite);
    await deliver(fullEvent({ type: 'contract.started' }));
    await quiet();
    const visitor = createVisitor(consoleUrl);
    await visitor.signIn('vera');
    const setBody = (body: Buffer) => storage.database.kysely.updateTable('delivery').set({ body }).execute();
    await setBody(Buffer.alloc(0));
    expect((await visitor.visit('/deliveries/1')).text).toContain('The body was not kept');
    expect((await visitor.visit('/deliveries/1/body')).status).toBe(404);
    await setBody(Buffer.alloc(60, 1));
    expect(await visitor.visit('/deliveries/1')).toMatchObject({ status: 200 });
    expect((await visitor.visit('/deliveries/1')).text).toContain('contract.started');
  });

  it('are replayed one by one', async () => {
    const journey = await openJourney(sqlite);
    const { storage, consoleUrl, deliver, quiet } = journey;
    await deliver(fullEvent({ type: 'contract.started' }));
    await quiet();
    await storage.inbox.postpone(1, 'given up', null);
    const visitor = createVisitor(consoleUrl);
    await visitor.signIn('otto');
    const failed = await visitor.visit('/deliveries/1');
    expect(failed.text).toContain('given up');
    expect((await visitor.press(failed, 'Replay')).path).toBe('/deliveries/1');
    await quiet();
    expect((await visitor.visit('/deliveries/1')).text).toContain('handled');
  });
});
