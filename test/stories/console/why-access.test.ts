import { describe, expect, it } from 'vitest';
import { listDeliveries } from '../../../src/inbox/delivery-list-store.ts';
import { actsIn, csrfOf, openSignedIn } from './signed-in.ts';

const minuteMs = 60_000;

async function openHired(name: 'otto' | 'vera') {
  const journey = await openSignedIn(name);
  await journey.customer.link('street-signs');
  await journey.customer.link('street-lamps');
  const { contractId, trainers } = journey.sandbox.hire({ jobId: journey.customer.jobId });
  await journey.quiet();
  const membership = (await journey.memberships()).find(({ groupId }) => groupId === 'street-signs');
  const { trainerId = '', id = 0 } = membership ?? {};
  return { ...journey, contractId, id, trainerId, displayName: trainers[0]?.displayName };
}

describe('the page of access', () => {
  it('says who is about to leave, when and why', async () => {
    const { customer, sandbox, quiet, pass, visitor } = await openSignedIn('vera');
    const linkId = await customer.link('street-signs');
    const { trainers } = sandbox.hire({ jobId: customer.jobId });
    await quiet();
    await pass(2 * 60 * minuteMs);
    expect((await visitor.visit('/access?leaving=yes')).text).toContain('Nobody matches.');
    await customer.api('DELETE', `/project-links/${linkId}`);
    await quiet();
    const page = await visitor.visit('/access?leaving=yes');
    const row = page.text.split('\n').find((line) => line.includes(trainers[0]?.opentrainUserId ?? '-'));
    expect(row).toMatch(/ \| the link to the project was removed \| in \d+ (min|h)/);
    const file = await visitor.visit('/access.csv?leaving=yes');
    expect(file.body).toContain(trainers[0]?.opentrainUserId);
  });
});

describe('the pages of access', () => {
  it('lead from a search to why a trainer has access', async () => {
    const { visitor, trainerId, contractId, id, displayName } = await openHired('vera');
    const list = await visitor.press(await visitor.visit('/access'), 'Search', { q: trainerId, state: 'active' });
    expect(list.path).toContain(`q=${trainerId}`);
    expect(list.text).toContain('street-signs');
    expect((await visitor.visit('/access?state=failed')).text).toContain('Nobody matches.');
    const trainer = await visitor.visit(`/trainers/${trainerId}`);
    expect(trainer.text).toContain('Nothing. They can sign in');
    const { text } = await visitor.visit(`/memberships/${id}`);
    expect(text).toContain('The contract is active');
    // It is explained by the link that leads there, and by no other one.
    expect(text).not.toContain('street-lamps');
    expect((await visitor.visit(`/contracts/${contractId}`)).text).toContain(`${displayName} is on the contract`);
  });

  it('show every step of a hire and an end, and what operators did between them', async () => {
    const { visitor, id, sandbox, contractId, pass, quiet, storage } = await openHired('otto');
    await pass(minuteMs);
    const membership = await visitor.press(await visitor.visit(`/memberships/${id}`), 'Sync now');
    expect(membership.path).toBe(`/memberships/${id}`);
    await quiet();
    await pass(minuteMs);
    sandbox.endContract(contractId);
    await quiet();
    const { html } = await visitor.visit(`/memberships/${id}`);
    const steps = html.querySelectorAll('.line li span').map(({ text }) => text);
    const order = [
      /^Event contract\.started/,
      /^Contract .* started, by an event/,
      /^The trainer should be in/,
      /^Before adding, the trainer was not found/,
      /^Call to .*: add the trainer/,
      /^Add to .* added, and found/,
      /^otto ran "members converge" on .*, from console /,
      /^Event contract\.ended/,
      /^Contract .* ended, by an event/,
      /^The trainer should be out of/,
      /^Before removing, the trainer was found/,
      /^Call to .*: remove the trainer/,
      /^Remove from .* removed, and not found/,
    ];
    const positions = order.map((pattern) => steps.findIndex((step) => pattern.test(step)));
    expect([steps, positions]).toEqual([steps, [...positions].sort((a, b) => a - b)]);
    expect([steps, positions]).toEqual([steps, expect.not.arrayContaining([-1])]);
    const [delivery] = await listDeliveries(storage.database.kysely, { type: 'contract.ended', limit: 1 });
    expect(html.querySelector(`a[href="/deliveries/${delivery?.id}"]`)).not.toBeNull();
  });

  it('defuse what a spreadsheet takes for a formula', async () => {
    const { visitor, storage, trainerId } = await openHired('vera');
    const { kysely } = storage.database;
    await kysely.updateTable('person').set({ displayName: '=1+1,"x"' }).where('trainerId', '=', trainerId).execute();
    const { body, type } = await visitor.visit('/access.csv?project=street-signs');
    expect(type).toMatch(/^text\/csv/);
    expect(body.split('\r\n')).toEqual([
      'name,trainer,project,tool,install,state,since,reason,problem,until',
      expect.stringContaining(`"'=1+1,""x""",${trainerId},`),
      '',
    ]);
  });
});

describe('the pages of deliveries', () => {
  it('replay everything that a filter matches, and say what was left', async () => {
    const { visitor, deliver, quiet, storage } = await openHired('otto');
    await deliver({ id: 'evt-unused', type: 'payout.sent', data: {} });
    await quiet();
    const ignored = (await listDeliveries(storage.database.kysely, { state: 'ignored', limit: 1 }))[0]?.id;
    const started = (await listDeliveries(storage.database.kysely, { type: 'contract.started', limit: 1 }))[0]?.id;
    const some = await visitor.visit('/deliveries?type=contract.started');
    // There is one for each link.
    const results = await visitor.press(some, 'Replay all that match, 1,000 at most');
    expect(results.path).toBe('/deliveries?type=contract.started');
    expect(results.text).toContain('2 will be handled again.');
    await quiet();
    const after = await visitor.visit('/deliveries?type=contract.started');
    expect(after.text).not.toContain('will be handled again');
    expect(after.text).toMatch(new RegExp(`^${started} \\|.*\\| Handled \\|`, 'm'));
    const unused = await visitor.visit('/deliveries?state=ignored');
    const none = await visitor.press(unused, 'Replay all that match, 1,000 at most');
    expect(none.text).toContain('0 will be handled again. 1 cannot be');
    expect(none.text).toMatch(new RegExp(`^${ignored} \\|`, 'm'));
    await quiet();
    expect(await actsIn({ storage })).toMatchObject([
      { actor: 'otto', action: 'deliveries replay', subject: '2 deliveries: type=contract.started' },
      { actor: 'otto', action: 'deliveries replay', subject: '0 deliveries: state=ignored' },
    ]);
  });

  it('mask addresses in a body, and give it whole to an operator who downloads it', async () => {
    const { visitor, storage } = await openHired('otto');
    const [delivery] = await listDeliveries(storage.database.kysely, { type: 'contract.started', limit: 1 });
    const page = await visitor.visit(`/deliveries/${delivery?.id}`);
    const whole = await visitor.visit(`/deliveries/${delivery?.id}/body`);
    expect(whole.type).toMatch(/^application\/octet-stream/);
    expect(page.text).toContain('contract.started');
    const address = /[\w.+-]+@[\w.-]+/.exec(whole.body)?.[0] ?? 'no address';
    expect(page.body).not.toContain(address);
  });

  it('say why there is no body to show', async () => {
    const { visitor, storage } = await openHired('vera');
    const [delivery] = await listDeliveries(storage.database.kysely, { type: 'contract.started', limit: 1 });
    const path = `/deliveries/${delivery?.id}`;
    const setBody = (body: Buffer) => storage.database.kysely.updateTable('delivery').set({ body }).execute();
    await setBody(Buffer.alloc(0));
    expect((await visitor.visit(path)).text).toContain('The body was not kept');
    await setBody(Buffer.alloc(60, 1));
    const page = await visitor.visit(path);
    expect([page.status, page.text.includes('contract.started')]).toEqual([200, true]);
    expect(page.text).toContain('Could not decrypt');
  });

  it('refuse an invalid filter, so that no bulk act affects everything', async () => {
    const { visitor, home, storage } = await openHired('otto');
    for (const filter of ['state=fail', 'since=yesterday', 'until=2026-13-01']) {
      expect([filter, (await visitor.visit(`/deliveries?${filter}`)).status]).toEqual([filter, 400]);
      const body = new URLSearchParams(`${filter}&matching=true&csrf=${encodeURIComponent(csrfOf(home))}`);
      const answer = await visitor.send('/do/deliveriesReplay', { method: 'POST', body });
      expect([filter, answer.status]).toEqual([filter, 400]);
    }
    expect((await visitor.visit('/access?state=activ')).status).toBe(400);
    expect(await actsIn({ storage })).toEqual([]);
  });

  it('go on page by page', async () => {
    const { visitor, deliver, quiet } = await openHired('vera');
    for (let number = 0; number < 105; number += 1) await deliver(`no event ${number}`);
    await quiet();
    const newest = await visitor.visit('/deliveries?state=unprocessable');
    const older = await visitor.visit(newest.html.querySelector('a[rel=next]')?.getAttribute('href') ?? '');
    const rows = [newest, older].map(({ html }) => html.querySelectorAll('tbody tr').length);
    expect(rows).toEqual([100, 5]);
    expect(older.html.querySelector('a[rel=next]')).toBeNull();
  });
});
