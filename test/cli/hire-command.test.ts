import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { NewAccount } from '../../src/sandbox/control-request-schema.ts';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { environmentOf } from '../support/bridge-process.ts';
import { programFile } from '../support/built-program.ts';
import { type Fate, openLosingProxy } from '../support/losing-proxy.ts';
import { readRoster } from '../support/roster.ts';
import { createStdin, startAt } from '../support/run-command.ts';
import { until } from '../support/until.ts';
import { refused, useBridge } from './bridge.ts';

const text = '# Label street signs\n\nDraw a box around each sign in 500 photos.\n';
const answers = ['experienceLevel=EXPERT', 'labelTypes=BOX,LINE', 'paymentType=PAY_PER_HOUR', 'pricePerHour=20'];
const sets = answers.flatMap((answer) => ['--set', answer]);
const transcript = [
  { role: 'interviewer', content: 'Which street scenes have you labelled?' },
  { role: 'candidate', content: 'Crossings, for two years.' },
] as const;

describe('gangway hire', { timeout: 120_000 }, () => {
  let sandbox: Sandbox;
  let accountId: string;
  let decide: (line: string) => Fate = () => 'passed';
  let asked: string[];

  const workspace = useBridge(async () => await openMarketplace());
  const { run, runOk, runJson } = workspace;

  async function openMarketplace(account: NewAccount = {}): Promise<object> {
    decide = () => 'passed';
    sandbox = createSandbox({ timeScale: 0 });
    const { url, baseUrl } = await sandbox.start();
    onTestFinished(() => sandbox.stop());
    const proxy = await openLosingProxy(url, (line) => decide(line));
    asked = proxy.asked;
    const made = sandbox.createAccount(account);
    accountId = made.accountId;
    const own = { source: 'employer', token: made.token, tool: 'list', projects: ['signs'] };
    return { marketplace: { baseUrl, employerBaseUrl: `${proxy.url}/api/public/v1` }, installs: { own } };
  }

  function jobFile(content = text): string {
    const file = path.join(workspace.folder, 'job.md');
    writeFileSync(file, content);
    return file;
  }

  /** After which a request can no longer be under way. */
  function passAMinute(): void {
    const now = Date.now() + 60_000;
    vi.useFakeTimers({ toFake: ['Date'], now });
    onTestFinished(() => void vi.useRealTimers());
  }

  const draft = (...more: string[]) => ['hire', 'draft', jobFile(), '--project', 'signs', ...more];
  const people = () => readRoster(workspace.rosterFile)['signs'] ?? [];
  const jobsOfSandbox = () => sandbox.snapshot().jobs;
  const approvalsOf = (type: string) =>
    (sandbox.snapshot().accounts[0]?.approvals ?? []).filter((one) => one.type === type);
  const hire = async () => (await runJson('hire', 'list')).items[0];

  async function publish(): Promise<string> {
    const { jobId } = await runJson(...draft(...sets));
    await runOk('hire', 'publish', jobId);
    return jobId;
  }

  const propose = (jobId: string, more: object = {}) =>
    sandbox.propose({ jobId, trainer: {}, interview: { messages: [...transcript] }, ...more });

  it('goes from a text to a person at work, and out again', async () => {
    expect(await run('hire')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('Nobody was hired from here'),
    });
    const first = await run(...draft());
    expect(first).toMatchObject({ status: 2, stdout: expect.stringContaining('How is the work paid?') });
    expect(first.stdout).toContain('--set paymentType=PAY_PER_HOUR|PAY_PER_LABEL|FIXED_PRICE');
    const { jobId } = JSON.parse((await run(...draft('--json'))).stdout);
    expect(jobsOfSandbox()).toHaveLength(1);
    expect(await hire()).toMatchObject({
      state: 'waiting',
      waitsFor: expect.stringContaining('answers: experience level'),
    });
    expect(await run('hire', 'publish', jobId)).toMatchObject(refused('paymentType is missing'));
    const some = await run('hire', 'answer', jobId, ...sets.slice(0, 6));
    expect(some).toMatchObject({ status: 2, stdout: expect.stringContaining('--set pricePerHour=<value>') });
    expect(await run('hire', 'answer', jobId, '--set', 'pricePerHour=much')).toMatchObject(refused('expected number'));
    expect(await run('hire', 'answer', jobId, '--set', 'pricePerHour')).toMatchObject(refused('a field and its value'));
    await runOk('hire', 'answer', jobId, ...sets.slice(6), '--set', 'jobId=job_other');
    expect(await hire()).toMatchObject({ waitsFor: 'its publication' });
    expect(await runOk('hire', 'publish', jobId)).toContain('is published for the project signs');
    expect(await runJson('links', 'list')).toMatchObject({ links: [{ jobId, project: 'signs', leads: 'here' }] });
    expect(await runOk('hire', 'proposals', jobId)).toContain('Nobody has proposed');

    propose(jobId, { interview: undefined });
    const { proposalId, trainer } = propose(jobId);
    const [best] = (await runJson('hire', 'proposals', jobId)).items;
    expect(best).toMatchObject({ id: proposalId, score: 80, hasTranscript: true });
    expect(await runOk('hire', 'proposal', proposalId)).toContain('candidate: Crossings, for two years.');
    const pending = await run('hire', 'confirm', proposalId, '--json');
    const approval = JSON.parse(pending.stdout);
    expect([pending.status, approval.status]).toEqual([2, 'pending']);
    const again = await run('hire', 'confirm', proposalId);
    expect(again).toMatchObject({ status: 2, stdout: expect.stringContaining(approval.url) });
    expect(approvalsOf('proposal_hire')).toHaveLength(1);
    expect(await hire()).toMatchObject({ waitsFor: 'a person to confirm it', url: approval.url });
    expect((await run('status')).stdout).toContain(`Confirm or decline it at ${approval.url}`);
    await run('reconcile');
    expect(people()).toEqual([]);

    sandbox.resolveApproval(approval.approvalId, 'confirmed');
    const { contractId, url } = await runJson('hire', 'confirm', proposalId);
    expect([contractId, url]).toEqual([sandbox.snapshot().contracts[0]?.id, null]);
    await run('reconcile');
    expect(people()).toEqual([trainer.opentrainUserId]);
    expect(await hire()).toMatchObject({ state: 'active', waitsFor: 'the first work', accessAt: expect.any(String) });

    const milestone = await runJson('milestones', 'create', contractId, '--name', 'Week 1', '--amount', '200');
    expect(await runJson('milestones', 'create', contractId, '--name', 'Week 1', '--amount', '200')).toEqual(milestone);
    const dearer = await run('milestones', 'create', contractId, '--name', 'Week 1', '--amount', '2000');
    expect(dearer).toMatchObject(refused('has a milestone Week 1 of another size'));
    for (const act of ['fund', 'approve'] as const) {
      const paying = JSON.parse((await run('milestones', act, contractId, milestone.id, '--json')).stdout);
      sandbox.resolveApproval(paying.approvalId, 'confirmed');
      expect(await run('milestones', act, contractId, milestone.id)).toMatchObject({ status: 0 });
      expect(approvalsOf(`milestone_${act}`)).toHaveLength(1);
    }
    expect(await runJson('milestones', 'list', contractId)).toMatchObject({ items: [{ status: 'COMPLETED' }] });

    sandbox.fundMilestone(contractId);
    const end = JSON.parse((await run('hire', 'end', contractId, '--yes', '--json')).stdout);
    await run('reconcile');
    expect(people()).toEqual([trainer.opentrainUserId]);
    sandbox.resolveApproval(end.approvalId, 'confirmed');
    expect(await run('hire', 'end', contractId)).toMatchObject(refused('--yes'));
    await runOk('hire', 'end', contractId, '--yes');
    await run('reconcile');
    expect(people()).toEqual([]);
    expect(await hire()).toMatchObject({ state: 'ended', waitsFor: null });
    const { stdout: audit } = await run('audit', '--json');
    for (const action of ['hire draft', 'hire publish', 'hire proposal hire', 'hire contract end']) {
      expect(audit).toContain(action);
    }
  });

  it('asks a person at a terminal for what is missing', async () => {
    // Each waits for its question, because a line that comes before one is lost.
    const stdin = createStdin('EXPERT');
    const command = startAt(stdin, ...draft(), '--config', workspace.configFile);
    for (const [asks, typed] of [
      ['labelTypes:', 'BOX'],
      ['paymentType:', 'FIXED_PRICE'],
      ['fixedPrice:', '900'],
    ] as const) {
      await until(asks, command.stderr, (says) => says.includes(asks));
      stdin.write(`${typed}\n`);
    }
    const { status, stdout, stderr } = await command.ended;
    expect(stderr).toContain('How is the work paid? [PAY_PER_HOUR, PAY_PER_LABEL, FIXED_PRICE]');
    expect([status, stdout]).toEqual([0, expect.stringContaining('can be published')]);
    expect(jobsOfSandbox()).toMatchObject([{ paymentType: 'FIXED_PRICE' }]);
  });

  it('makes another draft of the same text only for another key or project', async () => {
    const ids = [];
    for (const more of [[], [], ['--key', 'second'], ['--key', 'second']]) {
      ids.push(JSON.parse((await run(...draft('--json', ...more))).stdout).jobId);
    }
    expect([new Set(ids.slice(0, 2)).size, new Set(ids).size, jobsOfSandbox().length]).toEqual([1, 2, 2]);
    const outside = await run('hire', 'draft', jobFile(), '--project', 'lamps');
    expect(outside).toMatchObject(refused('no trainer would get in'));
    expect(jobsOfSandbox()).toHaveLength(2);
    expect(await run('hire', 'draft', `${jobFile()}.none`, '--project', 'signs')).toMatchObject(
      refused('does not exist'),
    );
  });

  it.each(['unsent', 'unanswered'] as const)(
    'makes nothing twice if the first of every request is %s',
    async (fate) => {
      const lost = new Set<string>();
      decide = (line) => {
        if (lost.has(line)) return 'passed';
        lost.add(line);
        return fate;
      };
      /** Repeats a command until it succeeds, or is said to be in doubt. */
      async function insist(...argv: string[]) {
        for (let tries = 0; ; tries += 1) {
          const { status, stdout, stderr } = await run(...argv, '--json');
          if (status === 0 || stdout !== '') return JSON.parse(stdout);
          if (stderr.includes('--again')) return 'in doubt';
          passAMinute();
          expect(tries).toBeLessThan(9);
        }
      }
      /** The operator looks at the marketplace, as the command says. */
      async function decideAbout(type: string, ...argv: string[]) {
        const first = await insist(...argv);
        expect(first).toBe('in doubt');
        expect((await run('status')).stdout).toContain('Nobody knows whether');
        const waiting = approvalsOf(type).filter(({ status }) => status === 'pending');
        expect(waiting).toHaveLength(fate === 'unsent' ? 0 : 1);
        const { approvalId } = waiting[0] ? { approvalId: waiting[0].id } : await insist(...argv, '--again');
        sandbox.resolveApproval(approvalId, 'confirmed');
        expect(await insist(...argv)).toMatchObject({ status: 'confirmed', url: null });
        expect(approvalsOf(type)).toHaveLength(1);
      }
      const { jobId } = await insist(...draft(...sets));
      await insist('hire', 'publish', jobId);
      const { proposalId, trainer } = propose(jobId);
      await decideAbout('proposal_hire', 'hire', 'confirm', proposalId);
      await insist('reconcile');
      await run('reconcile');
      expect(people()).toEqual([trainer.opentrainUserId]);
      const { contractId } = await hire();
      expect(contractId).toBe(sandbox.snapshot().contracts[0]?.id);
      const { id } = await insist('milestones', 'create', contractId, '--name', 'Week 1', '--amount', '200');
      await decideAbout('milestone_fund', 'milestones', 'fund', contractId, id);
      await decideAbout('milestone_approve', 'milestones', 'approve', contractId, id);
      await insist('hire', 'end', contractId, '--yes');
      await run('reconcile');
      expect(people()).toEqual([]);
      const { jobs, contracts } = sandbox.snapshot();
      expect([jobs.length, contracts.length]).toEqual([1, 1]);
      expect((await runJson('milestones', 'list', contractId)).items).toHaveLength(1);
      expect(asked.filter((line) => line.endsWith('/hire'))).toHaveLength(fate === 'unsent' ? 2 : 1);
    },
  );

  it('goes on where it was after it was killed while each request waited', async () => {
    async function kill(line: RegExp, ...argv: string[]) {
      decide = (one) => (line.test(one) ? 'hanging' : 'passed');
      const before = asked.length;
      const env = { NODE_COMPILE_CACHE: environmentOf('')['NODE_COMPILE_CACHE'] };
      const child = spawn(process.execPath, [programFile, ...argv, '--config', workspace.configFile], { env });
      const ended = once(child, 'exit');
      await until(`${line}`, () => asked.slice(before).some((one) => line.test(one)), Boolean);
      child.kill('SIGKILL');
      await ended;
      decide = () => 'passed';
    }
    await kill(/^POST \S+\/job-drafts$/, ...draft());
    await kill(/^PATCH/, ...draft(...sets));
    const { jobId } = await runJson(...draft(...sets));
    await kill(/\/publish$/, 'hire', 'publish', jobId);
    await runOk('hire', 'publish', jobId);
    const { proposalId } = propose(jobId);
    await kill(/\/hire$/, 'hire', 'confirm', proposalId);
    expect(await hire()).toMatchObject({ waitsFor: expect.stringContaining('an answer that was lost') });
    expect(await run('hire', 'confirm', proposalId, '--again')).toMatchObject(refused('may be under way'));
    passAMinute();
    expect(await run('hire', 'confirm', proposalId)).toMatchObject(refused('--again'));
    expect(await run('hire', 'confirm', proposalId, '--again')).toMatchObject({ status: 2 });
    expect([jobsOfSandbox().length, approvalsOf('proposal_hire').length]).toEqual([1, 1]);
  });

  it.each(['declined', 'expired'] as const)(
    'hires nobody by an approval that is %s, and can ask anew',
    async (status) => {
      const { proposalId } = propose(await publish());
      const { approvalId } = JSON.parse((await run('hire', 'confirm', proposalId, '--json')).stdout);
      const waiting = run('hire', 'confirm', proposalId, '--wait', '60s');
      sandbox.resolveApproval(approvalId, status);
      expect(await waiting).toMatchObject({
        status: 1,
        stdout: expect.stringContaining(`is ${status}. Nothing was done`),
      });
      expect(await hire()).toMatchObject({ state: status, url: null });
      const anew = JSON.parse((await run('hire', 'confirm', proposalId, '--json')).stdout);
      expect(anew.approvalId).not.toBe(approvalId);
      expect(sandbox.snapshot().contracts).toEqual([]);
    },
  );

  it('hires once although two approvals of it are confirmed', async () => {
    const { proposalId } = propose(await publish());
    const own = JSON.parse((await run('hire', 'confirm', proposalId, '--json')).stdout);
    expect(await run('marketplace', 'proposals', 'hire', proposalId)).toMatchObject({ status: 0 });
    sandbox.resolveApproval(own.approvalId, 'confirmed');
    const other = approvalsOf('proposal_hire').find(({ id }) => id !== own.approvalId);
    expect(other?.status).toBe('pending');
    expect(() => sandbox.resolveApproval(other?.id ?? '', 'confirmed')).toThrow();
    expect(() => sandbox.resolveApproval(own.approvalId, 'confirmed')).toThrow('confirmed');
    expect(await run('hire', 'confirm', proposalId)).toMatchObject({ status: 0 });
    expect(sandbox.snapshot().contracts).toHaveLength(1);
  });

  it('stays in doubt although asking once more is refused', async () => {
    const { proposalId } = propose(await publish());
    decide = (line) => (line.endsWith('/hire') ? 'unanswered' : 'passed');
    expect((await run('hire', 'confirm', proposalId)).status).toBe(1);
    decide = () => 'passed';
    passAMinute();
    sandbox.setAccount(accountId, { hasCard: false });
    expect(await run('hire', 'confirm', proposalId, '--again')).toMatchObject(refused('Add a card'));
    sandbox.setAccount(accountId, { hasCard: true });
    expect(await run('hire', 'confirm', proposalId)).toMatchObject(refused('--again'));
    expect(approvalsOf('proposal_hire')).toHaveLength(1);
  });

  it('notices that another approval of the same was confirmed', async () => {
    const { proposalId } = propose(await publish());
    expect(await run('hire', 'confirm', proposalId)).toMatchObject({ status: 2 });
    await run('marketplace', 'proposals', 'hire', proposalId);
    sandbox.resolveApproval(approvalsOf('proposal_hire')[1]?.id ?? '', 'confirmed');
    expect(await run('hire', 'confirm', proposalId)).toMatchObject({ status: 0 });
    expect((await run('status')).stdout).not.toContain('must confirm');
  });

  it('finds a hire that somebody else made', async () => {
    const { proposalId } = propose(await publish());
    await run('marketplace', 'proposals', 'hire', proposalId);
    sandbox.resolveApproval(approvalsOf('proposal_hire')[0]?.id ?? '', 'confirmed');
    expect(await runJson('hire', 'confirm', proposalId)).toMatchObject({
      status: 'confirmed',
      contractId: expect.any(String),
    });
    expect(approvalsOf('proposal_hire')).toHaveLength(1);
  });

  it('says why the marketplace publishes nothing', async () => {
    const bad = await runJson(
      'hire',
      'draft',
      jobFile(`${text}\nThis is forbidden content.\n`),
      '--project',
      'signs',
      ...sets,
    );
    const blocked = await run('hire', 'publish', bad.jobId);
    expect(blocked).toMatchObject(refused('has forbidden content'));
    expect(blocked.stderr).toContain('Change what the reasons name');
    await publish();
    for (let count = 1; count < 20; count += 1) {
      const { jobId } = await runJson(...draft('--key', String(count), ...sets));
      await runOk('hire', 'publish', jobId);
    }
    const { jobId } = await runJson(...draft('--key', 'last', ...sets));
    expect(await run('hire', 'publish', jobId)).toMatchObject(refused('at most 20 in 24 hours'));
    expect(await runJson('hire', 'job', jobId)).toMatchObject({ missing: [], publishedAt: null });
  });

  it('says why the marketplace hires nobody, and can ask again', async () => {
    const jobId = await publish();
    const notFit = propose(jobId, { isNotFit: true }).proposalId;
    expect(await run('hire', 'confirm', notFit)).toMatchObject(refused('--confirm-not-fit-override'));
    expect(await run('hire', 'confirm', notFit, '--confirm-not-fit-override')).toMatchObject({ status: 2 });
    const gone = propose(jobId, { refusal: 'freelancer_unavailable' }).proposalId;
    expect(await run('hire', 'confirm', gone)).toMatchObject(refused('Choose another person'));
    const { proposalId } = propose(jobId);
    sandbox.setAccount(accountId, { hasCard: false });
    const unpaid = await run('hire', 'confirm', proposalId);
    expect(unpaid).toMatchObject(refused(/Add a card or top up the credits/));
    const topUp = await run('budgets', 'top-up', '50', '--json');
    expect(topUp).toMatchObject({ status: 0, stdout: expect.stringMatching(/"checkoutUrl":"https:/) });
    sandbox.settlePayment(JSON.parse(topUp.stdout).topUp.topUpId, {});
    expect(await run('hire', 'confirm', proposalId)).toMatchObject({ status: 2 });
    const late = propose(jobId).proposalId;
    await run('marketplace', 'jobs', 'close', jobId, '--yes');
    expect(await run('hire', 'confirm', late)).toMatchObject(refused('Publish it first'));
    expect((await runJson('hire', 'list')).items).toHaveLength(2);
  });

  it('says that an account must be claimed, or that its token was revoked in the middle', async () => {
    workspace.open(await openMarketplace({ isClaimed: false }));
    const { proposalId } = propose(await publish());
    expect(await run('hire', 'confirm', proposalId)).toMatchObject(refused(/claimed first, at https:\S+claim/));
    sandbox.claimAccount(accountId);
    expect(await run('hire', 'confirm', proposalId)).toMatchObject({ status: 2 });
    sandbox.revokeAccountTokens(accountId);
    const revoked = await run('hire', 'confirm', proposalId);
    expect(revoked).toMatchObject(refused('answered 401'));
    expect(await hire()).toMatchObject({ waitsFor: 'a person to confirm it' });
  });

  it('is for accounts of your own', async () => {
    const { installs, ...others } = workspace.config();
    workspace.open({ ...others, installs: { acme: { token: 'ot_ptk_acme', tool: 'list' } } });
    expect(await run(...draft())).toMatchObject(refused('acme is a customer, who hires at the marketplace'));
    expect(installs).toBeDefined();
  });

  it('lists the team, and invites to it', async () => {
    sandbox.setAccount(accountId, { hasTeam: true });
    expect(await runJson('team', 'invite', 'ada@example.com')).toEqual({ status: 'invite_created' });
    expect((await runJson('team', 'list')).items).toContainEqual(expect.objectContaining({ role: 'INVITED' }));
    expect(await run('audit')).toMatchObject({ stdout: expect.not.stringContaining('ada@') });
  });

  beforeEach(() => workspace.withStorage(async () => undefined));
});
