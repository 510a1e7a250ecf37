import { describe, expect, it } from 'vitest';
import { recordToolTrouble } from '../../../src/converge/tool-trouble-store.ts';
import type { ToolTrouble } from '../../../src/domain/tool-trouble.ts';
import { createApiClient } from '../../support/api-client.ts';
import { storageOf } from '../../support/storage-of.ts';
import { actsIn, openSignedIn, outcomeOf, signIn } from './signed-in.ts';

const minuteMs = 60_000;

describe('the home page', () => {
  it('says what would be there before a customer has hired a trainer', async () => {
    const { home } = await openSignedIn('vera');
    expect(home.text).toContain('Nothing needs you.');
    expect(home.text).toContain('Nobody is in a tool yet.');
    expect(home.text).toContain('Nobody got in or was locked out in the last 30 days.');
  });

  it('says how long access and lock-out took, over a day and a month', async () => {
    const journey = await openSignedIn('vera', { projects: ['*'] });
    const { sandbox, customer, quiet, pass } = journey;
    await customer.link('street-signs');
    const { contractId } = sandbox.hire({ jobId: customer.jobId });
    await quiet();
    await pass(2 * 24 * 60 * minuteMs);
    sandbox.endContract(contractId);
    await quiet();
    // The first session has expired.
    const { home } = await signIn(journey, 'vera');
    const rows = home.text.split('\n').filter((line) => /^From .* \|/.test(line));
    // The clock stands still while they are let in.
    expect(rows).toEqual([
      'From hired to access | | 0.0 s · 0.0 s | 1',
      'From ended to locked out | 0.0 s · 0.0 s | 0.0 s · 0.0 s | 1',
    ]);
  });

  it('names what needs a person, with the page that shows it', async () => {
    const { sandbox, customer, visitor, quiet } = await openSignedIn('vera', { piiConsent: false });
    await customer.link('street-signs');
    sandbox.hire({ jobId: customer.jobId });
    await quiet();
    const home = await visitor.visit('/');
    expect(home.text).toContain('1 trainer of acme has no work email.');
    expect(home.html.querySelector('main .todo a')?.getAttribute('href')).toBe('/access?state=waiting_email');
  });

  it('called a customer good while their tool was down', async () => {
    const { consoleUrl, clock, storage, visitor } = await openSignedIn('otto');
    const [since, asksAgainAt] = [0, minuteMs].map((ms) => new Date(clock.now().getTime() + ms).toISOString());
    const trouble = { tool: 'list', errorCode: 'unavailable', message: 'no answer', since, asksAgainAt } as ToolTrouble;
    await recordToolTrouble(storageOf(storage.database), trouble);
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
    const { visitor, home, quiet, storage } = await openSignedIn('otto');
    expect(home.text).toContain('acme | Not read yet');
    const started = await visitor.press(home, 'Sync now');
    expect(started.path).toMatch(/^\/started\/\w+$/);
    await quiet();
    expect((await outcomeOf(visitor, started)).text).toMatch(/acme \| clean \| 0 \| 0 \| 0 \| 0/);
    expect((await visitor.visit('/')).text).toMatch(/acme \| Healthy \| \d+ s ago/);
    const origin = expect.stringMatching(/^console .*127\.0\.0\.1$/);
    expect(await actsIn({ storage })).toMatchObject([{ actor: 'otto', action: 'reconcile', subject: 'acme', origin }]);
  });

  it('tells an open page about a change', async () => {
    const { visitor, sandbox, customer } = await openSignedIn('vera');
    await customer.link('street-signs');
    const stream = await visitor.send('/changes');
    expect(stream.headers.get('content-type')).toBe('text/event-stream');
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    sandbox.hire({ jobId: customer.jobId });
    let events = '';
    while (!events.includes('data: changed\n\n')) events += (await reader?.read())?.value ?? '';
    await reader?.cancel();
  });
});
