import { expect, it } from 'vitest';
import { sqlite } from '../../support/databases.ts';
import { type EmployerJourney, openEmployerJourney, readEveryMs } from '../../support/employer-journey.ts';
import { decide, openHiringSite } from '../../support/hiring-site.ts';
import type { VisitedPage, Visitor } from '../../support/visitor.ts';
import { actsIn, formsOf, outcomeOf, signIn } from './signed-in.ts';

const minuteMs = 60_000;
// As a browser sends it.
const text = 'Draw boxes around signs\r\nEach sign gets one box.\r\n\r\nSigns at the edge count too.';

async function open() {
  const journey = await openEmployerJourney(sqlite);
  await journey.pass(minuteMs);
  return { ...journey, ...(await signIn(journey, 'otto')) };
}

function hrefsIn({ html }: VisitedPage): string[] {
  return html.querySelectorAll('main a').map((link) => link.getAttribute('href') ?? '');
}

/** Follows the link with this text. */
async function follow(visitor: Visitor, page: VisitedPage, label: string): Promise<VisitedPage> {
  const links = page.html.querySelectorAll('main a').filter((link) => link.text.trim() === label);
  expect([page.path, label, links.length]).toEqual([page.path, label, 1]);
  return await visitor.visit(links[0]?.getAttribute('href')?.replaceAll('&amp;', '&') ?? '');
}

async function pressed(visitor: Visitor, page: VisitedPage, button: string, given?: Record<string, string>) {
  return await outcomeOf(visitor, await visitor.press(page, button, given));
}

/** A draft with every answer. */
async function draftWhole(visitor: Visitor, given: { text: string; project: string }): Promise<VisitedPage> {
  const drafted = await visitor.press(await visitor.visit('/hires/new'), 'Draft the job', given);
  const answers = { experienceLevel: 'EXPERT', labelTypes: 'Boxes, Lines', paymentType: 'PAY_PER_HOUR' };
  const named = Object.entries(answers).map(([key, value]) => [`set.${key}`, value] as const);
  const asked = await visitor.press(drafted, 'Save', Object.fromEntries(named));
  return await visitor.press(asked, 'Save', { 'set.pricePerHour': '20' });
}

function jobIn({ path }: VisitedPage): string {
  return /^\/hires\/jobs\/(\w+)\?install=own$/.exec(path)?.[1] ?? '';
}

/** The answers that a form asks for. */
function askedIn({ html }: VisitedPage): string[] {
  const fields = html.querySelectorAll('main form [name]').map((field) => field.getAttribute('name') ?? '');
  return fields.filter((name) => name.startsWith('set.')).map((name) => name.slice(4));
}

/** The address at which a person decides, and that Hires and Home lead to it. */
async function waitingFor({ storage }: EmployerJourney, visitor: Visitor, subject: string): Promise<string> {
  const approvals = storage.database.kysely.selectFrom('approval').selectAll().where('subject', '=', subject);
  const { url } = await approvals.where('status', '=', 'pending').executeTakeFirstOrThrow();
  expect(url).toContain('https://');
  const home = await visitor.visit('/');
  expect(home.text).toContain(subject);
  expect(hrefsIn(home)).toContain(url);
  return url ?? '';
}

it('from a text to a person at work, to payments, and to the end', async () => {
  const journey = await open();
  const { sandbox, visitor, roster } = journey;
  const empty = await visitor.visit('/hires');
  expect(empty.text).toContain('Nobody was hired from here yet.');
  const form = await follow(visitor, empty, 'New hire');
  const drafted = await visitor.press(form, 'Draft the job', { text, project: 'boards' });
  expect(drafted.text).toContain('The job is drafted.');
  expect(askedIn(drafted)).toEqual(['experienceLevel', 'labelTypes', 'paymentType']);
  const jobId = jobIn(drafted);
  expect((await visitor.visit('/hires')).text).toMatch(
    /Draw boxes around signs .*Waiting \| answers: experience level/,
  );

  // The price is asked for once it is known how the work is paid.
  const some = { 'set.experienceLevel': 'EXPERT', 'set.labelTypes': 'Boxes, Lines', 'set.paymentType': 'PAY_PER_HOUR' };
  const priced = await visitor.press(drafted, 'Save', some);
  expect(askedIn(priced)).toEqual(['pricePerHour']);
  expect(priced.html.querySelectorAll('main button').map((button) => button.text)).toEqual(['Save']);
  const ready = await visitor.press(priced, 'Save', { 'set.pricePerHour': '20' });
  expect([askedIn(ready), ready.text]).toEqual([[], expect.stringContaining('Nothing is missing')]);
  const { fields } = sandbox.snapshot().jobs.find(({ id }) => id === jobId) ?? {};
  const answers = { experienceLevel: 'EXPERT', labelTypes: ['Boxes', 'Lines'], pricePerHour: 20 };
  expect(fields).toMatchObject({ ...answers, jobDescription: text.replaceAll('\r\n', '\n') });

  const published = await pressed(visitor, ready, 'Publish');
  expect(published.text).toContain(`Job ${jobId} (Draw boxes around signs) is published for the project boards`);
  expect(published.text).toContain('Nobody has proposed to do this job yet.');
  expect(hrefsIn(published)).toContain(`https://app.opentrain.ai/jobs/${jobId}`);
  const interview = {
    score: 91,
    summary: 'Has drawn boxes for two years',
    messages: [
      { role: 'interviewer' as const, content: 'What have you labelled?' },
      { role: 'candidate' as const, content: 'Signs.\n\nAnd lamps.' },
    ],
  };
  const coverLetter = `I can begin on Monday. ${'I have drawn many boxes. '.repeat(40)}That was all.`;
  sandbox.propose({ jobId, interview: { ...interview, score: 60 } });
  const { proposalId, trainer } = sandbox.propose({ jobId, trainer: {}, coverLetter, interview });
  const chosen = await visitor.visit(published.path);
  expect(chosen.text).toMatch(new RegExp(`${proposalId} \\| Pending \\| PT \\| 20 \\| 91 .*\n.* 60 `));
  const proposal = await visitor.visit(`/hires/proposals/${proposalId}?install=own`);
  expect(hrefsIn(chosen)).toContain(proposal.path);
  expect(proposal.text).toContain(trainer.displayName);
  for (const said of ['That was all.', interview.summary, 'What have you labelled?', 'And lamps.']) {
    expect(proposal.text).toContain(said);
  }

  const question = await follow(visitor, proposal, 'Hire');
  expect(question.text).toContain(proposalId);
  const hires = await pressed(visitor, question, 'Confirm');
  expect([hires.path, hires.text]).toEqual([
    '/hires',
    expect.stringMatching(/waits until \d{4}-\d\d-\d\d \d\d:\d\d UTC/),
  ]);
  const url = await waitingFor(journey, visitor, proposalId);
  expect(hires.text).toMatch(/Draw boxes around signs .*Waiting \| a person to confirm it/);
  expect(hrefsIn(hires)).toContain(url);
  expect(Object.values(roster()).flat()).toEqual([]);

  const { contractId } = await decide(journey, proposalId, 'confirmed');
  expect(roster()['boards']).toEqual([trainer.opentrainUserId]);
  const active = await visitor.visit('/hires');
  expect(active.text).toMatch(new RegExp(`Draw boxes around signs .*Active \\| the first work \\| ${contractId}`));
  expect(active.text).toContain('Drafted | Published | Requested | Decided | Started | In the tool');
  expect(hrefsIn(active)).not.toContain(url);
  expect((await visitor.visit('/')).text).not.toContain(proposalId);

  const contract = await follow(visitor, active, contractId);
  const milestones = await follow(visitor, contract, 'Its milestones at own');
  expect(milestones.text).toContain('The contract has no milestone yet.');
  const created = await pressed(visitor, await follow(visitor, milestones, 'Create a milestone'), 'Create', {
    name: 'First week',
    amount: '200',
  });
  expect([created.path, created.text]).toEqual([milestones.path, expect.stringContaining('(First week): not funded')]);
  const milestoneId = /mst_\w+/.exec(created.text)?.[0] ?? '';
  const funding = await pressed(visitor, await follow(visitor, created, 'Fund'), 'Fund');
  expect([funding.path, funding.text]).toEqual([milestones.path, expect.stringContaining('waits until')]);
  await waitingFor(journey, visitor, milestoneId);
  await decide(journey, milestoneId, 'confirmed');
  const funded = await visitor.visit(milestones.path);
  expect(funded.text).toMatch(/First week .*\| Active funded \| 200 \| 10 \| Approve/);
  await pressed(visitor, await follow(visitor, funded, 'Approve'), 'Approve');
  await decide(journey, milestoneId, 'confirmed');
  const paid = await visitor.visit(milestones.path);
  expect(paid.text).toMatch(/First week .*\| Completed \| 200 \| 10$/m);

  // With a funded milestone, a person decides about the end.
  sandbox.fundMilestone(contractId);
  const ending = await pressed(visitor, await follow(visitor, paid, 'End the contract'), 'End');
  expect(ending.text).toContain('waits until');
  await waitingFor(journey, visitor, contractId);
  expect(roster()['boards']).toEqual([trainer.opentrainUserId]);
  await decide(journey, contractId, 'confirmed');
  await journey.pass(readEveryMs);
  expect(roster()['boards']).toEqual([]);
  expect((await visitor.visit('/hires')).text).toMatch(/Draw boxes around signs .*\| Ended \|/);
  const actions = (await actsIn(journey)).map(({ actor, action }) => `${actor}: ${action}`);
  expect(actions).toEqual(
    expect.arrayContaining(['otto: hire draft', 'otto: hire publish', 'otto: hire proposal hire']),
  );
  expect(actions).toEqual(expect.arrayContaining(['otto: milestones create', 'otto: hire contract end']));
});

it('a decline is seen, and the person can be asked for again', async () => {
  const journey = await openHiringSite();
  const { visitor } = await signIn(journey, 'otto');
  const { waiting } = journey.proposals;
  await decide(journey, waiting, 'declined');
  expect((await visitor.visit('/hires')).text).toMatch(/Draw boxes .*\| Declined/);
  expect((await visitor.visit('/')).text).not.toContain(waiting);
  const page = await visitor.visit(`/hires/proposals/${waiting}?install=own`);
  const again = await pressed(visitor, await follow(visitor, page, 'Hire'), 'Confirm');
  expect(again.text).toMatch(/Draw boxes .*\| a person to confirm it/);
});

it('a person who is not a fit is hired only with the tick', async () => {
  const journey = await openHiringSite();
  const { visitor } = await signIn(journey, 'otto');
  const { notFit } = journey.proposals;
  const proposal = await visitor.visit(`/hires/proposals/${notFit}?install=own`);
  expect(proposal.text).toContain('Not fit');
  const question = await follow(visitor, proposal, 'Hire');
  const refused = await pressed(visitor, question, 'Confirm');
  expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('marked NOT_FIT')]);
  expect((await visitor.visit('/')).text).not.toContain(notFit);
  const asked = await pressed(visitor, question, 'Confirm', { confirmNotFitOverride: 'true' });
  expect([asked.path, asked.status]).toEqual(['/hires', 200]);
  await waitingFor(journey, visitor, notFit);
});

it('a request whose answer was lost is sent again only with the tick', async () => {
  const journey = await openHiringSite();
  const { visitor } = await signIn(journey, 'otto');
  const { fit } = journey.proposals;
  const question = await visitor.visit(`/do/hireConfirm?install=own&proposal=${fit}&back=/hires`);
  journey.sandbox.setFaults(undefined, {
    cutOff: { probability: 1, operations: ['POST /proposals/{proposalId}/hire'] },
  });
  expect((await pressed(visitor, question, 'Confirm')).status).toBe(503);
  journey.sandbox.setFaults();
  expect((await visitor.visit('/hires')).text).toMatch(/Draw boxes .*\| an answer that was lost/);
  expect((await visitor.visit('/')).text).toContain(`Nobody knows whether the hire by proposal ${fit}`);
  const soon = await pressed(visitor, question, 'Confirm', { again: 'true' });
  expect([soon.status, soon.text]).toEqual([409, expect.stringContaining('may be under way')]);
  await journey.live(60_000);
  const refused = await pressed(visitor, question, 'Confirm');
  expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('was lost')]);
  await pressed(visitor, question, 'Confirm', { again: 'true' });
  await waitingFor(journey, visitor, fit);
});

it('a contract without a funded milestone ends at once, and so does the access', async () => {
  const journey = await openEmployerJourney(sqlite);
  const { sandbox, signs, roster, pass, quiet } = journey;
  const { contractId, trainers } = sandbox.hire({ jobId: signs.id });
  await pass(minuteMs);
  expect(roster()[signs.project]).toEqual([trainers[0]?.opentrainUserId]);
  const { visitor } = await signIn(journey, 'otto');
  const page = await visitor.visit(`/hires/contracts/${contractId}?install=own`);
  const ended = await pressed(visitor, await follow(visitor, page, 'End the contract'), 'End');
  expect(ended.text).toContain(`The request for ${contractId} is confirmed`);
  // At once, although no event tells of it, and the next reading by the schedule comes later.
  await quiet();
  expect(roster()[signs.project]).toEqual([]);
});

it('says why a job was not published, and lets it be changed and published', async () => {
  const journey = await open();
  const { visitor, sandbox } = journey;
  const ready = await draftWhole(visitor, { text: 'Draw boxes\nThis is forbidden content.', project: 'boards' });
  const refused = await pressed(visitor, ready, 'Publish');
  expect([refused.status, refused.text]).toEqual([
    403,
    expect.stringContaining('The jobDescription has forbidden content'),
  ]);
  const draft = await visitor.visit(ready.path);
  expect(draft.text).toContain('Nothing is missing');
  expect((await visitor.visit('/hires')).text).toMatch(/Draw boxes .*\| its publication/);
  const changed = await visitor.press(draft, 'Save', { other: 'jobDescription', value: 'One box\r\nfor each = sign.' });
  const job = sandbox.snapshot().jobs.find(({ id }) => id === jobIn(ready));
  expect(job?.fields).toMatchObject({ jobTitle: 'Draw boxes', jobDescription: 'One box\nfor each = sign.' });
  expect((await pressed(visitor, changed, 'Publish')).text).toContain('is published');
});

it('a refused form is shown again with what was entered', async () => {
  const { visitor, sandbox, storage } = await open();
  const form = await visitor.visit('/hires/new');
  sandbox.setFaults(undefined, { forbidden: 1 });
  const refused = await visitor.press(form, 'Draft the job', { text: 'A\n<b>B</b>\u0007', project: 'boards' });
  expect(refused.status).toBe(403);
  expect(refused.html.querySelector('main [role=alert]')?.text).toContain('Could not create a draft of a job');
  expect(refused.html.querySelector('main textarea')?.textContent).toBe('A\n<b>B</b>\u0007');
  expect(refused.html.querySelector('main [name=project]')?.getAttribute('value')).toBe('boards');
  sandbox.setFaults();
  const drafted = await visitor.press(refused, 'Draft the job');
  // The same text is the same draft.
  expect(await storage.database.kysely.selectFrom('posting').selectAll().execute()).toHaveLength(1);
  const priced = await visitor.press(drafted, 'Save', { 'set.paymentType': 'PAY_PER_HOUR' });
  const wrong = await visitor.press(priced, 'Save', { 'set.pricePerHour': 'a lot', 'set.experienceLevel': 'EXPERT' });
  expect([wrong.status, wrong.path]).toEqual([400, priced.path]);
  expect(wrong.html.querySelector('main [role=alert]')?.text).toContain('pricePerHour');
  expect(wrong.html.querySelector('[name="set.pricePerHour"]')?.getAttribute('value')).toBe('a lot');
  expect(wrong.html.querySelector('[name="set.experienceLevel"] [selected]')?.getAttribute('value')).toBe('EXPERT');
  const right = await visitor.press(wrong, 'Save', { 'set.pricePerHour': '20' });
  expect(askedIn(right)).toEqual(['labelTypes']);
});

it('takes the longest text in any script', async () => {
  const { visitor, sandbox } = await open();
  const longest = `${'標'.repeat(59_999)}.`;
  const form = await visitor.visit('/hires/new');
  const drafted = await visitor.press(form, 'Draft the job', { text: longest, project: 'boards' });
  expect(drafted.status).toBe(200);
  const job = sandbox.snapshot().jobs.find(({ id }) => id === jobIn(drafted));
  expect(job?.fields.jobDescription).toBe(longest);
});

it('a viewer sees every page, and can change nothing', async () => {
  const journey = await openHiringSite();
  const { visitor } = await signIn(journey, 'vera');
  const { jobs, proposals, contractId } = journey;
  const own = 'install=own';
  const pages = [
    ['/hires', 'Draw boxes'],
    ['/hires/new', 'Only an operator can hire.'],
    [`/hires/jobs/${jobs.draft}?${own}`, 'How is the work paid?'],
    [`/hires/jobs/${jobs.published}?${own}`, proposals.fit],
    [`/hires/proposals/${proposals.fit}?${own}`, 'mostly with boxes'],
    [`/hires/contracts/${contractId}?${own}`, 'First week'],
    [`/do/hireConfirm?${own}&proposal=${proposals.fit}`, 'Only an operator can do this.'],
  ] as const;
  for (const [path, says] of pages) {
    const page = await visitor.visit(path);
    expect([path, page.status, page.text]).toEqual([path, 200, expect.stringContaining(says)]);
    expect([path, ...formsOf(page)]).toEqual([path, '/sign-out']);
    expect([path, hrefsIn(page).filter((href) => /^\/(do|hires\/new)\b/.test(href))]).toEqual([path, []]);
  }
  const { visitor: operator } = await signIn(journey, 'otto');
  const before = await actsIn(journey);
  for (const path of ['/hires/new', `/hires/jobs/${jobs.draft}?${own}`, '/do/hireConfirm', '/do/hirePublish']) {
    const { html } = await visitor.visit('/hires');
    const csrf = html.querySelector('[name=csrf]')?.getAttribute('value') ?? '';
    const body = new URLSearchParams({
      csrf,
      install: 'own',
      project: 'boards',
      text: 'Draw',
      other: 'jobTitle',
      value: 'x',
    });
    expect([path, (await visitor.send(path, { method: 'POST', body })).status]).toEqual([path, 403]);
  }
  expect(await actsIn(journey)).toEqual(before);
  expect(formsOf(await operator.visit('/hires/new'))).toEqual(['/sign-out', '/hires/new']);
});

it('nothing is found without an account, or in that of a customer', async () => {
  const { visitor, sandbox, signs } = await open();
  const { proposalId } = sandbox.propose({ jobId: signs.id });
  for (const path of [
    `/hires/proposals/${proposalId}`,
    '/hires/proposals/unknown?install=own',
    '/hires/contracts/1',
    '/hires/jobs/1',
  ]) {
    expect([path, (await visitor.visit(path)).status]).toEqual([path, 404]);
  }
  // A job that was not drafted here has no page.
  await pressed(visitor, await visitor.visit(`/do/hireConfirm?install=own&proposal=${proposalId}`), 'Confirm');
  const hires = await visitor.visit('/hires');
  expect(hires.text).toContain(signs.id);
  expect(hrefsIn(hires).filter((href) => href.startsWith('/hires/jobs'))).toEqual([]);
});

it('a job is shown although its proposals cannot be read', async () => {
  const { jobs, sandbox, ...journey } = await openHiringSite();
  const { visitor } = await signIn(journey, 'otto');
  sandbox.setFaults(undefined, { forbidden: 1 });
  const { status, text: shown } = await visitor.visit(`/hires/jobs/${jobs.published}?install=own`);
  expect([status, shown]).toEqual([200, expect.stringContaining('boards')]);
  expect(shown).toContain('Could not list the proposals for a job');
});
