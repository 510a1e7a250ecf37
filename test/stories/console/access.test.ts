import { describe, expect, it } from 'vitest';
import { toCsv } from '../../../src/console/view/csv.ts';
import { sqlite } from '../../support/databases.ts';
import { fullEvent } from '../../support/event-bodies.ts';
import { openJourney } from '../../support/journey.ts';
import { minutesAgo } from '../../support/lifecycle-events.ts';
import { createVisitor, type VisitedPage } from '../../support/visitor.ts';

const hostileName = '<img src=x onerror=alert(1)>"\'=cmd';

function rowsOf({ html }: VisitedPage): string[][] {
  return html
    .querySelectorAll('main tbody tr')
    .map((row) => row.querySelectorAll('td').map((cell) => cell.text.trim()));
}

describe('who has access', () => {
  it('is found by name, project, state and address, and the filter can be shared', async () => {
    const { sandbox, customer, consoleUrl, quiet } = await openJourney(sqlite);
    await customer.link('street-signs');
    const { trainers } = sandbox.hire({ jobId: customer.jobId });
    const { contractId } = sandbox.hire({ jobId: customer.jobId });
    await quiet();
    sandbox.endContract(contractId);
    await quiet();
    const visitor = createVisitor(consoleUrl);
    await visitor.signIn('vera');
    expect(rowsOf(await visitor.visit('/access'))).toHaveLength(2);

    const active = await visitor.press(await visitor.visit('/access'), 'Filter', { state: 'active' });
    const [found = []] = rowsOf(active);
    const [trainer] = trainers;
    expect(found.slice(0, 5)).toEqual([trainer?.displayName, 'street-signs', 'list', 'acme', 'active']);
    for (const text of [
      trainer?.opentrainUserId ?? '',
      trainer?.workEmail?.toUpperCase() ?? '',
      trainer?.displayName.slice(1, 5) ?? '',
    ]) {
      const page = await visitor.visit(`/access?${new URLSearchParams({ trainer: text, state: 'active' })}`);
      expect([text, rowsOf(page)]).toEqual([text, [found]]);
    }
    // A sign that searches for anything in SQL is a sign like others.
    expect((await visitor.visit('/access?trainer=%25')).text).toContain('No membership matches this filter.');
    expect((await visitor.visit('/access?project=street')).text).toContain('No membership matches this filter.');
  });

  it('is explained from contract to login, with what was done', async () => {
    const { sandbox, customer, consoleUrl, quiet } = await openJourney(sqlite);
    await customer.link('street-signs');
    const { contractId, trainers } = sandbox.hire({ jobId: customer.jobId });
    await quiet();
    const visitor = createVisitor(consoleUrl);
    await visitor.signIn('vera');
    const list = await visitor.visit('/access?state=active');
    const page = await visitor.visit(list.html.querySelector('tbody a')?.getAttribute('href') ?? '');
    expect(page.html.querySelector('h1')?.text).toBe(trainers[0]?.displayName);
    expect(page.text).toMatch(new RegExp(`by contract ?${contractId} of acme`));
    for (const step of ['install', 'contract', 'person', 'link', 'address', 'membership']) {
      expect(page.text).toMatch(new RegExp(`yes ?${step}`));
    }
    expect(page.text).toMatch(/street-signs of list \| add \| added/);

    sandbox.endContract(contractId);
    await quiet();
    const ended = await visitor.visit(page.path);
    expect(ended.text).toMatch(/no ?contract/);
    expect(ended.text).toMatch(/street-signs of list \| remove \| removed/);
    const contract = await visitor.visit(`/contracts/${contractId}`);
    expect(contract.html.querySelector(`a[href="${page.path}"]`)).not.toBeNull();
    expect((await visitor.visit('/trainers/unknown')).status).toBe(404);
  });

  it('shows what strangers chose as text, and hides addresses', async () => {
    const { storage, consoleUrl, deliver, quiet } = await openJourney(sqlite);
    const trainer = '<b>usr';
    const email = 'trainer.of.secrets@opentrain.work';
    const said = { trainer, project: '<i>signs', workEmail: email, displayName: hostileName };
    await deliver(fullEvent({ type: 'contract.started', createdAt: minutesAgo(1), ...said }));
    await quiet();
    await storage.database.kysely
      .updateTable('membership')
      .set({ failure: `<script>alert(1)</script> of ${email}` })
      .execute();
    const visitor = createVisitor(consoleUrl);
    await visitor.signIn('otto');
    for (const address of ['/access', `/trainers/${encodeURIComponent(trainer)}`, '/']) {
      const page = await visitor.visit(address);
      expect([address, page.status]).toEqual([address, 200]);
      expect(page.html.querySelectorAll('main img, main script, main i, main b')).toEqual([]);
      expect(page.body).not.toContain(email);
    }
    expect((await visitor.visit('/access')).text).toContain('<script>alert(1)</script> of t…@opentrain.work');
  });

  it('is a file that no spreadsheet runs', async () => {
    const { consoleUrl, deliver, quiet } = await openJourney(sqlite);
    const said = { project: 'signs', displayName: '=HYPERLINK("http://evil.example")' };
    await deliver(fullEvent({ type: 'contract.started', createdAt: minutesAgo(1), ...said }));
    await quiet();
    const visitor = createVisitor(consoleUrl);
    await visitor.signIn('vera');
    const answer = await visitor.send('/access.csv?project=signs');
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const [head, row] = (await answer.text()).split('\r\n');
    expect(head).toBe('trainer,trainer id,project,tool,customer,state,since,why,until');
    expect(row).toMatch(/^"'=HYPERLINK\(""http:\/\/evil\.example""\)",/);
  });

  it.each([
    ['plain text', 'Zoë', 'Zoë'],
    ['a formula', '=1+1', "'=1+1"],
    ['a formula behind spaces', ' @SUM(A1)', "' @SUM(A1)"],
    ['a number below nothing', '-1', "'-1"],
    ['quotes and commas', 'a"b,c', '"a""b,c"'],
    ['lines', 'a\r\nb', '"a\r\nb"'],
    ['nothing', null, ''],
  ])('has %s in a file as it should', (_, cell, expected) => {
    expect(toCsv([[cell]])).toBe(`${expected}\r\n`);
  });
});
