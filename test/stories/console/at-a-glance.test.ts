import { describe, expect, it } from 'vitest';
import { recordToolTrouble } from '../../../src/converge/tool-trouble-store.ts';
import type { ToolTrouble } from '../../../src/domain/tool-trouble.ts';
import { createApiClient } from '../../support/api-client.ts';
import { sqlite } from '../../support/databases.ts';
import { openJourney } from '../../support/journey.ts';
import { storageOf } from '../../support/storage-of.ts';
import { until } from '../../support/until.ts';
import { createVisitor } from '../../support/visitor.ts';

const minuteMs = 60_000;

describe('the home page', () => {
  it('says what would be there before a customer has hired a trainer', async () => {
    const { consoleUrl } = await openJourney(sqlite);
    const home = await createVisitor(consoleUrl).signIn('vera');
    expect(home.text).toContain('Nothing needs you.');
    expect(home.text).toContain('Nobody is in a tool yet.');
    expect(home.text).toContain('Nobody got in or was locked out in the last 30 days.');
  });

  it('says how long access and lock-out took, over a day and a month', async () => {
    const { sandbox, customer, consoleUrl, quiet, pass } = await openJourney(sqlite, { projects: ['*'] });
    await customer.link('street-signs');
    const { contractId } = sandbox.hire({ jobId: customer.jobId });
    await quiet();
    await pass(2 * 24 * 60 * minuteMs);
    sandbox.endContract(contractId);
    await quiet();
    const home = await createVisitor(consoleUrl).signIn('vera');
    const rows = home.text.split('\n').filter((line) => /^From .* \|/.test(line));
    // The clock stands still while they are let in.
    expect(rows).toEqual([
      'From hired to access | | 0.0 s · 0.0 s | 1',
      'From ended to locked out | 0.0 s · 0.0 s | 0.0 s · 0.0 s | 1',
    ]);
  });

  it('names what needs a person, with the page that shows it', async () => {
    const { sandbox, customer, consoleUrl, quiet } = await openJourney(sqlite, { piiConsent: false });
    await customer.link('street-signs');
    sandbox.hire({ jobId: customer.jobId });
    await quiet();
    const home = await createVisitor(consoleUrl).signIn('vera');
    expect(home.text).toContain('1 trainer of acme has no work email.');
    expect(home.html.querySelector('main .todo a')?.getAttribute('href')).toBe('/access?state=waiting_email');
  });

  it('called a customer good while their tool was down', async () => {
    const { consoleUrl, clock, storage } = await openJourney(sqlite);
    const [since, asksAgainAt] = [0, minuteMs].map((ms) => new Date(clock.now().getTime() + ms).toISOString());
    const trouble = { tool: 'list', errorCode: 'unavailable', message: 'no answer', since, asksAgainAt } as ToolTrouble;
    await recordToolTrouble(storageOf(storage.database), trouble);
    const visitor = createVisitor(consoleUrl);
    await visitor.signIn('otto');
    await visitor.press(await visitor.visit('/'), 'Sync now');
    for (const page of ['/', '/installs', '/installs/acme']) {
      const { text } = await visitor.visit(page);
      expect(text).toContain('Tool “list” is not answering.');
      expect(text).not.toContain('Healthy');
    }
    const { installs } = await createApiClient(consoleUrl).ask('installsList');
    expect(installs).toMatchObject([{ install: 'acme', troubles: [expect.stringContaining('is not answering')] }]);
  });

  it('reads every customer when an operator asks, and records who did', async () => {
    const { consoleUrl, quiet, storage } = await openJourney(sqlite);
    const visitor = createVisitor(consoleUrl);
    expect((await visitor.signIn('otto')).text).toContain('acme | Not read yet');
    const started = await visitor.press(await visitor.visit('/'), 'Sync now');
    expect(started.path).toMatch(/^\/started\/\w+$/);
    await quiet();
    const done = await until(
      'the sync is done',
      () => visitor.visit(started.path),
      ({ text }) => !text.includes('Under way'),
    );
    expect(done.text).toMatch(/acme \| clean \| 0 \| 0 \| 0 \| 0/);
    expect((await visitor.visit('/')).text).toMatch(/acme \| Healthy \| \d+ s ago/);
    const acts = await storage.database.kysely.selectFrom('audit').selectAll().execute();
    expect(acts).toMatchObject([
      {
        actor: 'otto',
        action: 'reconcile',
        subject: 'acme',
        origin: expect.stringMatching(/^console .*127\.0\.0\.1$/),
      },
    ]);
  });

  it('tells an open page about a change', async () => {
    const { consoleUrl, sandbox, customer } = await openJourney(sqlite);
    await customer.link('street-signs');
    const visitor = createVisitor(consoleUrl);
    await visitor.signIn('vera');
    const stream = await visitor.send('/changes');
    expect(stream.headers.get('content-type')).toBe('text/event-stream');
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    sandbox.hire({ jobId: customer.jobId });
    let events = '';
    while (!events.includes('data: changed\n\n')) events += (await reader?.read())?.value ?? '';
    await reader?.cancel();
  });
});
