import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { toKebab } from '../../src/cli/define-command.ts';
import { listed, operations } from '../../src/marketplace/contract/contract.ts';
import { fieldsOfPath, methodOf, type Operation, pathOf } from '../../src/marketplace/contract/operation.ts';
import { refusals } from '../../src/marketplace/contract/refusals.ts';
import { ofEmployer, ofPlatform } from '../../src/marketplace/relied-on.ts';
import { fieldsOf } from '../../src/operations/input.ts';
import type { NewAccount } from '../../src/sandbox/control-request-schema.ts';
import { employerRoutes } from '../../src/sandbox/employer/employer-api.ts';
import { authRoutes } from '../../src/sandbox/employer/identity-routes.ts';
import { platformRoutes } from '../../src/sandbox/platform-api.ts';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { openHttpFake, sendJson } from '../support/http-fake.ts';
import { createStdin, runCommand, startAt } from '../support/run-command.ts';
import { until } from '../support/until.ts';
import { refused, useBridge } from './bridge.ts';

const personalToken = 'ot_pat_thispersonaltokenisnotshown';
const platformToken = 'ot_ptk_thisplatformtokenisnotshown';

const installsOf = (own: string, acme: string, jobs: Record<string, string> = { job_1: 'signs' }) => ({
  own: { source: 'employer', token: own, tool: 'list', projects: ['signs'], jobs },
  acme: { token: acme, tool: 'list', projects: ['lamps'] },
});

/** A value of each field that some operation requires. */
const samples: Record<string, unknown> = {
  a: 1,
  amountUsd: 50,
  audiences: ['WORKER'],
  b: 2,
  baseRevisionNumber: 1,
  body: 'Hello',
  claim_token: 'ot_clm_thisclaimtokenisnotshown',
  conversationId: 'dm_1',
  email: 'ada@example.com',
  freelancerId: 'usr_1',
  grant_type: 'urn:opentrain:agent-auth:grant-type:claim',
  jobId: 'job_1',
  name: 'Signs',
  operations: [{ kind: 'CREATE_PAGE', manualId: 'man_1' }],
  principalId: 'usr_1',
  role: 'EDITOR',
  since: '2026-03-15T12:00:00Z',
  title: 'Signs',
  workspaceId: 'wsp_1',
};

const isRaw = (operation: Operation) => operation.own === undefined || methodOf(operation) === 'GET';
const wordsOf = ({ family, name }: Operation) => ['marketplace', family, toKebab(name)];
const idsOf = (operation: Operation) => fieldsOfPath(operation).map((_, index) => `id_${index}`);

function requiredOf({ id, in: schema }: Operation): Record<string, unknown> {
  const required = [...fieldsOf(schema)].filter(([, { isRequired }]) => isRequired).map(([name]) => name);
  for (const name of required) expect(samples, `${id} needs a sample`).toHaveProperty(name);
  return Object.fromEntries(required.map((name) => [name, samples[name]]));
}

describe('gangway marketplace, for every operation', () => {
  let requests: { line: string }[] = [];
  const workspace = useBridge(async () => {
    const fake = await openHttpFake((_request, response) => sendJson(response, {}));
    requests = fake.requests;
    const marketplace = { baseUrl: `${fake.url}/api/partner/v1`, employerBaseUrl: `${fake.url}/api/public/v1` };
    return { marketplace, installs: installsOf(personalToken, platformToken) };
  });
  beforeEach(() => workspace.withStorage(async () => undefined));
  const { run } = workspace;

  function inputFile(input: object): string {
    const file = path.join(workspace.folder, 'input.json');
    writeFileSync(file, JSON.stringify(input));
    return file;
  }

  it.each(operations.filter(isRaw).map((one) => [one.id, one] as const))(
    '%s shows its request without a secret, and sends nothing, with --dry-run',
    async (_, operation) => {
      const input = requiredOf(operation);
      const line = [...wordsOf(operation), ...idsOf(operation), '--input', inputFile(input), '--dry-run'];
      const { status, stdout, stderr } = await run(...line, '--json');
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      const { method, url, headers, body } = JSON.parse(stdout);
      expect(method).toBe(methodOf(operation));
      const { pathname, searchParams } = new URL(url);
      const bases = { platform: '/api/partner/v1', public: '/api/public/v1', auth: '/api/agent' };
      const ids = [...idsOf(operation)];
      expect(pathname).toBe(bases[operation.api] + pathOf(operation).replaceAll(/\{\w+\}/g, () => ids.shift() ?? ''));
      expect(Object.keys(body ?? Object.fromEntries(searchParams))).toEqual(Object.keys(input));
      const hasToken = operation.credential === 'personal' || operation.credential === 'platform';
      expect('authorization' in headers).toBe(hasToken);
      const people = await run(...line);
      expect(people).toMatchObject({ status: 0, stdout: expect.stringContaining(url) });
      for (const text of [stdout, people.stdout]) expect(text).not.toMatch(/isnotshown/);
      expect(requests).toEqual([]);
    },
  );

  it.each(operations.filter((one) => !isRaw(one)).map((one) => [one.id, one] as const))(
    '%s is refused whatever its input is, because Gangway does it itself',
    async (_, operation) => {
      for (const more of [[], ['id_1', '--dry-run'], ['--url', 'https://example.com', '--yes', '--show-secret']]) {
        const refusal = refused(`Gangway does this itself for an install: ${operation.own}`, 64);
        expect(await run(...wordsOf(operation), ...more)).toMatchObject({ ...refusal, stdout: '' });
      }
      const help = await runCommand(...wordsOf(operation), '--help');
      expect(help).toMatchObject({ status: 0, stdout: expect.stringContaining(operation.own ?? '-') });
      expect(requests).toEqual([]);
    },
  );

  it('finds operations of both kinds, and those that need a person', () => {
    expect(operations.filter(isRaw).length).toBeGreaterThan(85);
    expect(operations.filter((one) => !isRaw(one)).length).toBeGreaterThan(8);
    expect(operations.filter(({ isFinal }) => isFinal).length).toBeGreaterThan(8);
  });

  it.each(operations.filter((one) => one.isFinal && isRaw(one)).map((one) => [one.id, one] as const))(
    '%s needs a yes',
    async (_, operation) => {
      const line = [...wordsOf(operation), ...idsOf(operation)];
      expect(await run(...line)).toMatchObject(refused('--yes confirms it', 64));
      const config = ['--config', workspace.configFile];
      expect(await startAt(createStdin('n'), ...line, ...config).ended).toMatchObject(refused('it was not confirmed'));
      expect(requests).toEqual([]);
      expect(await startAt(createStdin('y'), ...line, ...config).ended).toMatchObject({ status: 0 });
      expect(await run(...line, '--yes')).toMatchObject({ status: 0 });
      expect(requests).toHaveLength(2);
    },
  );

  it('takes a secret only in a file, because others see a command line', async () => {
    const line = ['marketplace', 'identity', 'claim'];
    expect(await run(...line, '--claim-token', 'ot_clm_1')).toMatchObject(refused('unknown option', 64));
    expect(await run(...line, '--input', inputFile({ claim_token: 'ot_clm_1' }))).toMatchObject({ status: 0 });
  });

  it.each(['identity register', 'identity token', 'credits top-up'])(
    '%s is not sent without --show-secret, because the answer would be lost',
    async (words) => {
      const input = inputFile({ claim_token: 'ot_clm_1', grant_type: 'x', amountUsd: 20 });
      const line = ['marketplace', ...words.split(' '), '--input', input];
      expect(await run(...line)).toMatchObject(refused('--show-secret prints it', 64));
      expect(requests).toEqual([]);
      expect(await run(...line, '--show-secret')).toMatchObject({ status: 0 });
      expect(requests).toHaveLength(1);
    },
  );

  const milestone = ['marketplace', 'contracts', 'create-milestone', 'ctr_1'];

  it.each<[string, object, readonly string[], object]>([
    ['options', {}, ['--name', '7', '--amount-usd', '12.5'], { name: '7', amountUsd: 12.5 }],
    ['a file', { name: 'Signs', volume: 3 }, [], { name: 'Signs', volume: 3 }],
    ['a file and options, which win', { name: 'Signs', volume: 3 }, ['--name', 'B'], { name: 'B', volume: 3 }],
    ['unknown fields', { name: 'Signs', new: { field: [1] } }, [], { name: 'Signs', new: { field: [1] } }],
  ])('takes %s', async (_, input, options, sent) => {
    const { status, stdout } = await run(...milestone, '--input', inputFile(input), ...options, '--dry-run', '--json');
    expect({ status, body: JSON.parse(stdout).body }).toEqual({ status: 0, body: sent });
  });

  it('sends what looks like a number as text in a list of texts', async () => {
    const audit = [
      'marketplace',
      'messages',
      'email-audit',
      '--job-id',
      '1',
      '--message-ids',
      '7',
      '--message-ids',
      '8',
    ];
    const { url } = JSON.parse((await run(...audit, '--dry-run', '--json')).stdout);
    expect(new URL(url).searchParams.toString()).toBe('jobId=1&messageIds=7&messageIds=8');
  });

  it('sends fields also where the contract knows of none', async () => {
    const fund = ['marketplace', 'milestones', 'fund', 'mil_1', '--dry-run', '--json'];
    expect(JSON.parse((await run(...fund)).stdout).body).toBeUndefined();
    const input = inputFile({ partial: true });
    expect(JSON.parse((await run(...fund, '--input', input)).stdout).body).toEqual({ partial: true });
  });

  it('reads the input from stdin', async () => {
    const stdin = createStdin();
    const piped = Object.assign(stdin, { isTTY: false });
    const line = ['marketplace', 'team', 'invite', '--input', '-', '--dry-run', '--json'];
    expect(await startAt(piped, ...line, '--config', workspace.configFile).ended).toMatchObject({ status: 64 });
    const written = Object.assign(createStdin(JSON.stringify({ email: 'ada@example.com' })), { isTTY: false });
    written.end();
    const { stdout } = await startAt(written, ...line, '--config', workspace.configFile).ended;
    expect(JSON.parse(stdout).body).toEqual({ email: 'ada@example.com' });
  });

  it.each<[string, readonly string[], object | string, string]>([
    ['a required field', milestone, {}, '--name is required'],
    ['a number', [...milestone, '--name', 'x', '--amount-usd', 'much'], {}, '--amount-usd must be a number'],
    ['a text in the file', milestone, { name: 7 }, '--name must be a text'],
    [
      'a choice',
      ['marketplace', 'contracts', 'list', '--status', 'gone'],
      {},
      '--status must be one of: active, ended',
    ],
    ['a nested field', ['marketplace', 'drafts', 'create'], { source: { text: 7 } }, 'source.text must be a text'],
    ['a strict operation', ['marketplace', 'drafts', 'update', 'job_1'], { salary: 1 }, 'salary cannot be given here'],
    ['another one', ['marketplace', 'manuals', 'update', 'man_1'], { colour: 1 }, 'colour cannot be given here'],
    ['a list', milestone, [1], 'must hold one JSON object'],
    ['no JSON', milestone, '{"name": secret}', 'line 1, column 10: expected a value'],
  ])('refuses %s before anything is sent', async (_, line, input, says) => {
    const file = inputFile({});
    writeFileSync(file, typeof input === 'string' ? input : JSON.stringify(input));
    const result = await run(...line, '--input', file);
    expect(result).toMatchObject(refused(says, 64));
    expect(result.stderr).not.toContain('secret');
    expect(await run(...line, '--input', `${file}.none`)).toMatchObject(refused('cannot be read', 64));
    expect(requests).toEqual([]);
  });

  it('takes the token of the only install that fits, or of the one that is named', async () => {
    const authorizations = () => requests.map((one) => Object(one).authorization);
    await run('marketplace', 'account', 'me');
    await run('marketplace', 'installs', 'current', '--install', 'acme');
    await run('marketplace', 'jobs', 'search');
    expect(authorizations()).toEqual([`Bearer ${personalToken}`, `Bearer ${platformToken}`, undefined]);
    const other = await run('marketplace', 'account', 'me', '--install', 'acme');
    expect(other).toMatchObject(refused('it needs the install of an account of your own: own', 64));
    const unknown = await run('marketplace', 'account', 'me', '--install', 'none');
    expect(unknown).toMatchObject(refused('there is no install "none"; there is: own', 64));
    const { own } = installsOf(personalToken, platformToken);
    workspace.changeConfig({ installs: { own, second: { ...own, token: `${personalToken}2` } } });
    expect(await run('marketplace', 'account', 'me')).toMatchObject(refused('name the install: own, second', 64));
    const platform = await run('marketplace', 'installs', 'current');
    expect(platform).toMatchObject(refused("platform's customer: gangway connect <name>", 64));
    expect(requests).toHaveLength(3);
  });

  it('has no --remote', async () => {
    const url = ['--remote', 'http://127.0.0.1:9'];
    expect(await run('marketplace', 'account', 'me', ...url)).toMatchObject(refused('does not take --remote', 64));
    expect(await run('marketplace', 'coverage', ...url)).toMatchObject(refused('does not take --remote', 64));
  });
});

describe('gangway marketplace', { timeout: 30_000 }, () => {
  let sandbox: Sandbox;
  let jobId: string;
  let contractId: string;
  let token: string;
  let marketplace: object;

  const workspace = useBridge(async () => await openMarketplace());
  beforeEach(() => workspace.withStorage(async () => undefined));
  const { run, runJson, runOk } = workspace;

  async function openMarketplace(account: NewAccount = {}): Promise<object> {
    sandbox = createSandbox({ timeScale: 0 });
    const { baseUrl, employerBaseUrl } = await sandbox.start();
    onTestFinished(() => sandbox.stop());
    const made = sandbox.createAccount(account);
    token = made.token;
    jobId = sandbox.createJob({ accountId: made.accountId }).id;
    contractId = sandbox.hire({ jobId }).contractId;
    marketplace = { baseUrl, employerBaseUrl };
    const acme = sandbox.createInstall();
    return { marketplace, installs: installsOf(token, acme.token, { [jobId]: 'signs' }) };
  }

  it('prints a list as a table of its simple fields, and a record as lines', async () => {
    const list = await runOk('marketplace', 'contracts', 'list');
    const [head = '', row = '', ...more] = list.trimEnd().split('\n');
    expect(head.split(/ {2,}/)).toEqual(expect.arrayContaining(['id', 'status', 'title', 'hasActiveMilestone']));
    expect(head).not.toContain('freelancer');
    expect(row.split(/ {2,}/)).toEqual(expect.arrayContaining([contractId, 'active', 'false']));
    expect(more).toEqual([]);
    const shown = await runOk('marketplace', 'contracts', 'get', contractId);
    expect(shown).toMatch(new RegExp(`^contract.id +${contractId}$`, 'm'));
    expect(shown).toMatch(/^contract\.freelancer\.displayName +\S/m);
    expect(await runOk('marketplace', 'approvals', 'get', '--help')).toContain('--wait');
  });

  it('prints the answer as it came with --json', async () => {
    const answer = await runJson('marketplace', 'contracts', 'get', contractId);
    const { employerBaseUrl } = Object(marketplace);
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`${employerBaseUrl}/contracts/${contractId}`, { headers });
    expect(answer).toEqual(await response.json());
  });

  it('reads one page, or all of them with --all', async () => {
    const accountId = sandbox.snapshot().accounts[0]?.id ?? '';
    const ids = [jobId, ...[1, 2, 3, 4].map(() => sandbox.createJob({ accountId }).id)].reverse();
    const idsIn = ({ jobs }: { jobs: { id: string }[] }) => jobs.map(({ id }) => id);
    const page = await run('marketplace', 'jobs', 'mine', '--limit', '2');
    expect(page.stdout.trimEnd().split('\n')).toHaveLength(3);
    expect(page.stderr).toMatch(/^There is more: --all, or --cursor \S+\n$/);
    const cursor = page.stderr.trim().split(' ').at(-1) ?? '';
    expect(idsIn(await runJson('marketplace', 'jobs', 'mine', '--limit', '2', '--cursor', cursor))).toEqual(
      ids.slice(2, 4),
    );
    expect(idsIn(await runJson('marketplace', 'jobs', 'mine', '--limit', '2', '--all'))).toEqual(ids);
    expect((await runOk('marketplace', 'jobs', 'mine', '--limit', '2', '--all')).trimEnd().split('\n')).toHaveLength(6);
  });

  it('reads a feed to its end, which has a cursor too', async () => {
    const accountId = sandbox.snapshot().accounts[0]?.id ?? '';
    for (const jobId of ['a', 'b', 'c']) {
      sandbox.raiseNews(accountId, { type: 'message.received', jobId, resourceId: 'msg_1', data: {} });
    }
    const { events, nextCursor } = await runJson('marketplace', 'updates', 'list', '--all', '--limit', '1');
    expect(events.length).toBeGreaterThanOrEqual(4);
    expect(nextCursor).toBe(events.at(-1).id);
    expect(await runOk('marketplace', 'updates', 'list', '--cursor', nextCursor)).toBe('There are no events\n');
  });

  const end = (...more: string[]) => ['marketplace', 'contracts', 'end', contractId, '--yes', ...more];

  it('acts, and writes the act to the audit log', async () => {
    expect(await runJson(...end())).toEqual({ ok: true, contractId, status: 'ended' });
    const { items } = await runJson('audit');
    expect(items).toMatchObject([{ action: 'marketplace contracts.end', subject: `own/${contractId}` }]);
    await runOk('marketplace', 'contracts', 'get', contractId);
    expect((await runJson('audit')).items).toHaveLength(1);
  });

  it('says where a person must confirm an act', async () => {
    sandbox.fundMilestone(contractId);
    const { status, stdout, stderr } = await run(...end());
    expect(status).toBe(0);
    expect(stderr).toMatch(/approval \S+ waits until \S+ for a person at the marketplace: https:\S+\/approvals\/\S+\n/);
    expect(stdout).toMatch(/^approval.status +pending$/m);
  });

  it.each([
    ['confirmed', 0],
    ['declined', 1],
    ['expired', 1],
  ] as const)('waits until an approval is %s, and ends with %i', async (outcome, status) => {
    sandbox.fundMilestone(contractId);
    const line = [...end('--wait', '30s', '--json'), '--config', workspace.configFile];
    const command = startAt(createStdin(), ...line);
    const stderr = await until('an approval waits', command.stderr, (text) => text.includes('waits'));
    sandbox.resolveApproval(/approval (\S+) waits/.exec(stderr)?.[1] ?? '', outcome);
    const ended = await command.ended;
    expect(ended.status).toBe(status);
    const { approval, message } = JSON.parse(ended.stdout);
    expect([approval.status, typeof message]).toEqual([outcome, 'string']);
  });

  it('ends with 2 if nobody has decided in time, and follows the approval later', async () => {
    sandbox.fundMilestone(contractId);
    const { status, stdout } = await run(...end('--wait', '1s', '--json'));
    const { approval } = JSON.parse(stdout);
    expect([status, approval.status]).toEqual([2, 'pending']);
    sandbox.resolveApproval(approval.id, 'confirmed');
    const later = await run('marketplace', 'approvals', 'get', approval.id, '--wait', '30s');
    expect(later).toMatchObject({ status: 0, stdout: expect.stringMatching(/^approval.status +confirmed$/m) });
    expect(await run(...end('--wait', 'soon'))).toMatchObject(refused('a duration such as 30s', 64));
  });

  it('tells a refusal in the words of the catalogue, with what to do', async () => {
    await runOk(...end());
    // Once, because the marketplace's own words are those of the catalogue.
    const said = 'answered 409: The contract has ended. Nothing is left to do';
    expect(await run(...end())).toMatchObject({ ...refused(`${said}\n`), stdout: '' });
    const json = await run(...end('--json'));
    const error = expect.stringContaining(said);
    expect(JSON.parse(json.stderr)).toEqual({ error, code: 'conflict', details: { reason: 'contract_ended' } });
  });

  it.each<[string, NewAccount, string | RegExp]>([
    [
      'the account is not claimed',
      { isClaimed: false },
      /claimed first, at https:\S+\. Open the claim link and claim it/,
    ],
    ['the scope is missing', { scopes: ['payments:read'] }, /payments:write.*^grantedScopes +payments:read$/ms],
    ['the feature is off', { featuresOff: ['public_api_payments_write'] }, 'ask the marketplace for it'],
  ])('says so if %s', async (_, account, says) => {
    workspace.open(await openMarketplace(account));
    await workspace.withStorage(async () => undefined);
    expect(await run(...end())).toMatchObject(refused(says));
  });

  it('goes from a proposal to a hire that a person confirms, as the refusal says', async () => {
    const { proposalId } = sandbox.propose({ jobId, isNotFit: true });
    const hire = ['marketplace', 'proposals', 'hire', proposalId];
    expect(await run(...hire)).toMatchObject(refused('Repeat it with --confirm-not-fit-override'));
    const { stdout } = await run(...hire, '--confirm-not-fit-override', '--json');
    const { approval } = JSON.parse(stdout);
    sandbox.resolveApproval(approval.id, 'confirmed');
    const decided = await runJson('marketplace', 'approvals', 'get', approval.id, '--wait', '30s');
    expect(decided.approval).toMatchObject({ status: 'confirmed', type: 'proposal_hire', proposalId });
    expect((await runJson('marketplace', 'contracts', 'list')).contracts).toHaveLength(2);
  });

  it('registers an agent, whose secrets are shown on request, and starts the claim', async () => {
    const made = await runJson('marketplace', 'identity', 'register', '--agent-name', 'Scout', '--show-secret');
    const input = path.join(workspace.folder, 'claim.json');
    writeFileSync(input, JSON.stringify({ claim_token: made.claim_token, grant_type: made.grant_type }));
    expect(await runOk('marketplace', 'identity', 'claim', '--input', input)).toMatch(/^claim_url +https?:/m);
    const poll = await run('marketplace', 'identity', 'token', '--input', input, '--show-secret');
    expect(poll).toMatchObject(refused(`${refusals.authorization_pending[1]}. ${refusals.authorization_pending[2]}`));
    expect(poll.stderr).not.toContain(made.claim_token);
  });

  it('downloads an attachment, and says why one cannot be had', async () => {
    const { jobDmConversationId: conversation } = (await runJson('marketplace', 'contracts', 'get', contractId))
      .contract;
    const attachments = [{ contentBase64: Buffer.from('a note').toString('base64') }, { refusal: 'OVERSIZE' as const }];
    const { messageId, attachmentIds } = sandbox.writeMessage(conversation, { attachments });
    const download = (id = '') => ['marketplace', 'messages', 'attachment', messageId, id, '--output'];
    const file = path.join(workspace.folder, 'note.txt');
    await runOk(...download(attachmentIds[0]), file);
    expect(readFileSync(file, 'utf8')).toBe('a note');
    const none = await run(...download(attachmentIds[1]), `${file}.2`);
    expect(none).toMatchObject(refused('answered 409: The file is over 20 MiB. Ask the sender for a smaller one'));
  });

  it('says that there is no such record', async () => {
    expect(await run('marketplace', 'contracts', 'get', 'ctr_none')).toMatchObject(refused('answered 404'));
    expect(await run('marketplace', 'contracts', 'get', '..')).toMatchObject(refused('No record can have this id'));
  });
});

describe('gangway marketplace, at a marketplace that answers as the test says', () => {
  let serve: (response: ServerResponse) => void;
  let requests: { line: string }[] = [];
  const workspace = useBridge(async () => {
    const fake = await openHttpFake((_request, response) => serve(response));
    const { url } = fake;
    requests = fake.requests;
    return {
      marketplace: { baseUrl: `${url}/api/partner/v1`, employerBaseUrl: `${url}/api/public/v1` },
      installs: installsOf(personalToken, platformToken),
    };
  });
  beforeEach(() => workspace.withStorage(async () => undefined));
  const { run } = workspace;

  const answer = (body: unknown) => {
    serve = (response) => sendJson(response, body);
  };

  it('lets no text of a stranger control the terminal, and prints it as it came with --json', async () => {
    const message = { id: 'msg_1', body: 'one\ntwo \u001b[31mred', sentAt: null };
    answer({ messages: [message] });
    const line = ['marketplace', 'messages', 'list', 'dm_1'];
    expect((await run(...line)).stdout).toMatch(/^msg_1 +one two red$/m);
    expect(JSON.parse((await run(...line, '--json')).stdout)).toEqual({ messages: [message] });
    answer({ conversation: message, '\u001b[2Jnew': [1, 2] });
    const { stdout } = await run(...line);
    expect(stdout).toMatch(/^conversation.body +one two red$/m);
    expect(stdout).toMatch(/^new +1, 2$/m);
  });

  it('shows a secret once, on stdout', async () => {
    const checkoutUrl = 'https://pay.example.com/c/thissecretisshown';
    answer({ topUpId: 'top_1', checkoutUrl });
    const { stdout, stderr } = await run('marketplace', 'credits', 'top-up', '--amount-usd', '20', '--show-secret');
    expect(stdout.split(checkoutUrl)).toHaveLength(2);
    expect(stderr).toBe('');
  });

  it('refuses pages that repeat', async () => {
    answer({ jobs: [{ id: 'job_1' }], nextCursor: 'again\u001b[2J' });
    expect((await run('marketplace', 'jobs', 'mine')).stderr).toBe('There is more: --all, or --cursor again\n');
    expect(await run('marketplace', 'jobs', 'mine', '--all')).toMatchObject(refused('a page came twice'));
  });

  const file = Buffer.from([0, 255, ...Buffer.from('a drawing')]);
  const download = ['marketplace', 'messages', 'attachment', 'msg_1', 'att_1'];
  const output = () => path.join(workspace.folder, 'drawing.png');
  const drawings = () => readdirSync(workspace.folder).filter((name) => name.includes('drawing'));

  function attach(bytes: Buffer): void {
    const sha256 = createHash('sha256').update(file).digest('hex');
    serve = (response) => {
      response.writeHead(200, { 'X-OpenTrain-Byte-Size': file.length, 'X-OpenTrain-Sha256': sha256 });
      response.end(bytes);
    };
  }

  it('writes a file that only its owner can read, and replaces none', async () => {
    attach(file);
    expect(await run(...download, '--output', output())).toEqual({ status: 0, stdout: '', stderr: '' });
    expect(readFileSync(output())).toEqual(file);
    expect(statSync(output()).mode & 0o777).toBe(0o600);
    const other = `${output()}.2`;
    expect(JSON.parse((await run(...download, '--output', other, '--json')).stdout)).toEqual({ file: other });
    writeFileSync(output(), 'mine');
    const before = requests.length;
    expect(await run(...download, '--output', output())).toMatchObject(refused('is already there'));
    expect(requests).toHaveLength(before);
    expect(readFileSync(output(), 'utf8')).toBe('mine');
    expect(drawings()).toEqual(['drawing.png', 'drawing.png.2']);
    expect((await run(...download)).stdout).toBe(file.toString());
  });

  it.each([
    ['another hash', Buffer.from(file).fill('x', 3), 'do not have the named hash'],
    ['another length', file.subarray(1), 'bytes came instead of'],
  ])('writes no file with %s', async (_, bytes, says) => {
    attach(bytes);
    expect(await run(...download, '--output', output())).toMatchObject(refused(says));
    expect(await run(...download)).toMatchObject({ ...refused(says), stdout: '' });
    expect(drawings()).toEqual([]);
  });

  it('says if a file cannot be written', async () => {
    attach(file);
    const nowhere = path.join(workspace.folder, 'none', 'drawing.png');
    expect(await run(...download, '--output', nowhere)).toMatchObject(refused('cannot be written'));
  });
});

describe('gangway marketplace coverage', () => {
  it('has every operation of the contract, with what the sandbox serves and the sources rely on', async () => {
    const { operations: rows } = JSON.parse((await runCommand('marketplace', 'coverage', '--json')).stdout);
    expect(operations).toHaveLength(100);
    const served = [...platformRoutes, ...employerRoutes, ...authRoutes].map(({ operation }) => operation.id);
    const reliedOn = [...ofPlatform, ...ofEmployer].map(({ operation }) => operation.id);
    const declared = operations.map((operation) => {
      const { id, family, name, section, assumed = null } = operation;
      const others = [served.includes(id) && 'in the sandbox', reliedOn.includes(id) && 'relied on'].filter(Boolean);
      const states = [assumed === null ? 'declared' : 'assumed', ...others];
      const request = { method: methodOf(operation), path: pathOf(operation) };
      return { family, operation: toKebab(name), ...request, section, states, note: assumed };
    });
    const only = listed.map(({ family, what, section }) => {
      return { family, operation: null, method: null, path: null, section, states: ['listed only'], note: what };
    });
    expect(rows).toEqual([...declared, ...only]);
    expect(served.length).toBeGreaterThan(30);
    expect(reliedOn.length).toBeGreaterThan(30);
  });

  it('is a table for people', async () => {
    const { stdout } = await runCommand('marketplace', 'coverage');
    const states = 'declared, in the sandbox, relied on';
    const end = ['contracts', 'end', 'POST', '/contracts/{contractId}/end', 'A 4.6', states];
    const rows = stdout.split('\n').map((row) => row.trim().split(/ {2,}/));
    expect(rows).toContainEqual(end);
    expect(rows).toContainEqual(['renders', 'B 4.1', 'listed only', 'renders of manuals']);
  });
});
