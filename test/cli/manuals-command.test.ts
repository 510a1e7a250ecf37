import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { type Fate, openLosingProxy } from '../support/losing-proxy.ts';
import { refused, useBridge } from './bridge.ts';

describe('gangway manuals', { timeout: 60_000 }, () => {
  let sandbox: Sandbox;
  let accountId: string;
  let decide: (line: string) => Fate = () => 'passed';
  let asked: string[];
  let folder: string;

  const workspace = useBridge(async () => {
    decide = () => 'passed';
    sandbox = createSandbox({ timeScale: 0 });
    const { url, baseUrl } = await sandbox.start();
    onTestFinished(() => sandbox.stop());
    const proxy = await openLosingProxy(url, (line) => decide(line));
    asked = proxy.asked;
    const made = sandbox.createAccount();
    accountId = made.accountId;
    const own = { source: 'employer', token: made.token, tool: 'list', projects: ['signs'] };
    return { marketplace: { baseUrl, employerBaseUrl: `${proxy.url}/api/public/v1` }, installs: { own } };
  });
  const { run, runOk, runJson } = workspace;

  beforeEach(async () => {
    await workspace.withStorage(async () => undefined);
    folder = path.join(workspace.folder, 'manuals');
    write('ws/signs/manual.json', '{ "title": "Street signs" }');
    write(
      'ws/signs/intro.md',
      '---\ntitle: Introduction\n---\n\n# Why\n\nWe need **boxes** around signs.\n\nThank you.\n',
    );
    write('ws/signs/rules.md', 'One sign, one box. Ask ada@lab.example.\n');
    write('ws/signs/rules/edges.md', '---\ntitle: "Edges: cut signs"\n---\n\n1. Draw to the edge.\n2. No further.\n');
  });

  function write(name: string, text: string, to = folder): void {
    const file = path.join(to, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const text = (name: string) => readFileSync(path.join(folder, name), 'utf8');
  const edit = (name: string, from: string | RegExp, to: string) => write(name, text(name).replace(from, to));
  const idOf = (name: string) => /^id: (.*)$/m.exec(text(name))?.[1] ?? '';
  const names = (of = folder) =>
    readdirSync(of, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .sort();
  const manuals = async () => (await runJson('marketplace', 'manuals', 'list', `wsp_${accountId}`)).manuals;
  const revisions = async () =>
    (await manuals()).map(({ head }: { head: { revisionNumber: number } }) => head.revisionNumber);
  const push = async (...options: string[]) => (await runJson('manuals', 'push', folder, ...options)).manuals[0];
  const check = async () => (await run('manuals', 'push', folder, '--dry-run')).status;
  const applied = () => asked.filter((line) => line === 'POST /api/public/v1/instructions/changesets/apply').length;

  it('makes a manual of a folder, and a folder of a manual', async () => {
    expect(await run('manuals', 'diff', folder)).toMatchObject({
      status: 2,
      stdout: expect.stringMatching(/would change\n {2}ws\/signs\/intro: create\n {2}ws\/signs\/rules: create/),
    });
    expect(await manuals()).toEqual([]);
    expect(await push('--note', 'The first version')).toMatchObject({ result: 'changed', conflicts: [] });
    expect(applied()).toBe(1);
    expect(text('ws/signs/intro.md')).toMatch(
      /^---\nid: pg_\w+\ntitle: Introduction\n(.|\n)*\n# Why\n\nWe need \*\*boxes\*\*/,
    );
    expect(text('ws/signs/rules/edges.md')).toMatch(/title: "Edges: cut signs"\n/);
    expect(await check()).toBe(0);
    expect(await push()).toMatchObject({ result: 'unchanged' });

    const before = names().map((name) => text(name));
    expect(await run('manuals', 'pull', folder)).toMatchObject({ status: 0, stdout: 'Pulled 1 manual.\n' });
    expect(names().map((name) => text(name))).toEqual(before);
    expect(text('ws/signs/rules.md')).toContain('Ask ada@lab.example.');
    const other = path.join(workspace.folder, 'other');
    await runOk('manuals', 'pull', other);
    expect(names(other)).toEqual([
      'instructions/street-signs/introduction.md',
      'instructions/street-signs/rules.md',
      'instructions/street-signs/rules/edges-cut-signs.md',
    ]);
    expect(await run('manuals', 'push', other, '--dry-run')).toMatchObject({ status: 0 });
    rmSync(path.join(other, 'instructions/street-signs/manual.json'));
    writeFileSync(path.join(other, 'instructions/street-signs/rules.md'), 'Mine.');
    await runOk('manuals', 'pull', other);
    expect(readFileSync(path.join(other, 'instructions/street-signs/rules.md'), 'utf8')).toBe('Mine.');
    const { id } = JSON.parse(text('ws/signs/manual.json'));
    expect((await runJson('manuals', 'log', id)).items[0]).toMatchObject({ revision: 2, says: 'The first version' });
  });

  it('changes all that differs in one changeset, and parts of pages by patches', async () => {
    await push();
    edit('ws/signs/intro.md', 'boxes', 'tight boxes');
    edit('ws/signs/intro.md', 'title: Introduction', 'title: Welcome');
    edit('ws/signs/intro.md', 'position: 0', 'position: 1');
    write('ws/signs/edges.md', text('ws/signs/rules/edges.md').replace('audience: WORKER', 'audience: REVIEWER'));
    for (const gone of ['rules.md', 'rules/edges.md']) rmSync(path.join(folder, 'ws/signs', gone));
    write('ws/signs/edges/lamps.md', '- No lamps\n');
    const { changes, result } = await push();
    expect(result).toBe('changed');
    expect(changes.map(({ page, says: of }: { page: string; says: string }) => `${page}: ${of}`).sort()).toEqual([
      'rules: archive',
      'ws/signs/edges/lamps: create',
      'ws/signs/edges: move',
      'ws/signs/edges: show to REVIEWER',
      'ws/signs/intro: edit',
      'ws/signs/intro: move',
      'ws/signs/intro: rename, from “Introduction”',
    ]);
    expect(applied()).toBe(2);
    expect(await check()).toBe(0);
    edit('ws/signs/edges/lamps.md', 'No lamps', 'No poles');
    expect(await run('manuals', 'diff', folder)).toMatchObject({
      status: 2,
      stdout: expect.stringMatching(/: edit\n {2}The marketplace: .*"title":"lamps",.*"changes":\["content"\]/),
    });
    const other = path.join(workspace.folder, 'other');
    await runOk('manuals', 'pull', other);
    const page = (name: string) => readFileSync(path.join(other, 'instructions/street-signs', name), 'utf8');
    expect(page('welcome.md')).toContain('We need **tight boxes** around signs.\n\nThank you.');
    expect(page('edges-cut-signs.md')).toContain('audience: REVIEWER');
    expect(page('edges-cut-signs/lamps.md')).toContain('- No lamps');
    // Only what was edited is sent, so that the rest of the page keeps its ids.
    const [, second] = JSON.parse(text('ws/signs/intro.json')).content.content;
    expect(second.content[1].text).toBe('tight boxes');
  });

  it('brings an archived page back with its file', async () => {
    await push();
    const [page, beside] = [text('ws/signs/intro.md'), text('ws/signs/intro.json')];
    rmSync(path.join(folder, 'ws/signs/intro.md'));
    expect(await push()).toMatchObject({ changes: [{ says: 'archive' }] });
    expect(await check()).toBe(0);
    write('ws/signs/intro.md', page.replace('boxes', 'wide boxes'));
    write('ws/signs/intro.json', beside);
    const { changes, result } = await push();
    expect([result, changes]).toEqual([
      'changed',
      [expect.objectContaining({ says: 'restore' }), expect.objectContaining({ says: 'edit' })],
    ]);
    expect(await check()).toBe(0);
  });

  it('keeps both versions of a page that was edited twice, and changes nothing before they are merged', async () => {
    await push();
    const content = { type: 'doc', content: [{ type: 'paragraph', content: [{ type: 'text', text: 'Theirs.' }] }] };
    sandbox.editPage(idOf('ws/signs/intro.md'), { content });
    edit('ws/signs/intro.md', 'boxes', 'our boxes');
    edit('ws/signs/rules.md', 'one box', 'two boxes');
    const dry = await run('manuals', 'push', folder, '--dry-run');
    expect(dry.status).toBe(3);
    expect(dry.stderr).toContain('ws/signs/intro.md was edited here and at the marketplace. Merge');
    expect(names()).not.toContain('ws/signs/intro.theirs.md');

    const conflict = await run('manuals', 'push', folder);
    expect(conflict).toMatchObject({ status: 3, stdout: expect.stringContaining(': conflict') });
    expect(await revisions()).toEqual([3]);
    expect(text('ws/signs/intro.md')).toContain('our boxes');
    expect(text('ws/signs/intro.theirs.md')).toContain('Theirs.');
    expect(text('ws/signs/rules.md')).toContain('two boxes');
    expect(await run('manuals', 'push', folder)).toMatchObject({
      status: 3,
      stderr: expect.stringContaining('intro.theirs.md'),
    });
    expect(applied()).toBe(1);

    edit('ws/signs/intro.md', 'Thank you.', 'Theirs.');
    rmSync(path.join(folder, 'ws/signs/intro.theirs.md'));
    // The other version has a part without an id.
    expect(await run('manuals', 'push', folder)).toMatchObject(refused('--replace'));
    expect(await push('--replace')).toMatchObject({ result: 'changed' });
    expect(await check()).toBe(0);
  });

  it('takes over what was edited there only, and what both sides edited alike', async () => {
    await push();
    const paragraph = (says: string) => ({ type: 'paragraph', content: [{ type: 'text', text: says }] });
    sandbox.editPage(idOf('ws/signs/rules.md'), { content: { type: 'doc', content: [paragraph('Two boxes.')] } });
    sandbox.editPage(idOf('ws/signs/rules/edges.md'), { content: { type: 'doc', content: [paragraph('Alike.')] } });
    edit('ws/signs/rules/edges.md', /1\. Draw(.|\n)*$/, 'Alike.\n');
    edit('ws/signs/intro.md', 'boxes', 'our boxes');
    expect(await run('manuals', 'pull', folder)).toMatchObject({ status: 0 });
    expect(text('ws/signs/rules.md')).toMatch(/\n\nTwo boxes\.\n$/);
    expect(text('ws/signs/intro.md')).toContain('our boxes');
    expect(await push()).toMatchObject({ result: 'changed', changes: [{ page: 'ws/signs/intro', says: 'edit' }] });
  });

  it.each(['unsent', 'unanswered'] as const)('makes nothing twice if every first request is %s', async (fate) => {
    const seen = new Set<string>();
    decide = (line) => {
      const isFirst = line.startsWith('POST') && !seen.has(line);
      seen.add(line);
      return isFirst ? fate : 'passed';
    };
    for (let turn = 0; turn < 3; turn += 1) await run('manuals', 'push', folder);
    expect(await revisions()).toEqual([2]);
    expect(await check()).toBe(0);
  });

  it('goes on where it was although the answer never came', async () => {
    await push();
    edit('ws/signs/intro.md', 'boxes', 'wide boxes');
    decide = (line) => (line.endsWith('/changesets/apply') ? 'unanswered' : 'passed');
    expect(await run('manuals', 'push', folder)).toMatchObject({ status: 1 });
    decide = () => 'passed';
    expect(await push()).toMatchObject({ result: 'unchanged', conflicts: [] });
    expect(await revisions()).toEqual([3]);
    expect(await check()).toBe(0);
  });

  it('submits changes, which a reviewer approves or rejects', async () => {
    await push();
    edit('ws/signs/intro.md', 'boxes', 'wide boxes');
    const { changesetId, result } = await push('--submit', '--note', 'Wider');
    expect(result).toBe('submitted');
    expect((await push('--submit', '--note', 'Wider')).changesetId).toBe(changesetId);
    expect((await runJson('review', 'list')).items).toMatchObject([
      { id: changesetId, status: 'SUBMITTED', says: 'Wider' },
    ]);
    expect(await revisions()).toEqual([2]);
    expect(await runJson('review', 'approve', changesetId)).toMatchObject({ status: 'APPLIED' });
    expect(await runJson('review', 'approve', changesetId)).toMatchObject({ status: 'APPLIED' });
    await runOk('manuals', 'pull', folder);
    expect(await check()).toBe(0);

    edit('ws/signs/intro.md', 'wide', 'wider');
    const second = await push('--submit');
    expect(await runJson('review', 'reject', second.changesetId, '--note', 'No')).toMatchObject({ status: 'REJECTED' });

    edit('ws/signs/intro.md', 'wider', 'widest');
    const third = await push('--submit');
    sandbox.editPage(idOf('ws/signs/intro.md'), { title: 'Other' });
    expect(await run('review', 'approve', third.changesetId)).toMatchObject({
      status: 3,
      stderr: expect.stringMatching(/pg_\w+ \(patch content\): the page has a newer revision/),
    });
  });

  it('publishes, restores, and lists what was published and who may', async () => {
    const { manualId } = await push();
    edit('ws/signs/intro.md', 'boxes', 'wide boxes');
    await push();
    const once = await runJson('manuals', 'publish', manualId, '--audience', 'WORKER', '--audience', 'REVIEWER');
    expect(once).toEqual({ manualId, publicationNumber: 1, revision: 3 });
    expect(await runJson('manuals', 'publish', manualId, '--audience', 'WORKER', '--audience', 'REVIEWER')).toEqual(
      once,
    );
    expect(await runJson('manuals', 'publish', manualId, '--revision', '2')).toMatchObject({ publicationNumber: 2 });
    expect(await runJson('manuals', 'publish', manualId, '--revision', '3')).toMatchObject({ publicationNumber: 3 });
    expect(await runJson('manuals', 'restore', manualId, '2')).toEqual({ manualId, revision: 4 });
    expect((await runJson('manuals', 'log', manualId)).items).toMatchObject([
      { revision: 4, published: null },
      { revision: 3, published: 'number 3 for WORKER; number 1 for WORKER, REVIEWER' },
      { revision: 2, published: 'number 2 for WORKER' },
      { revision: 1 },
    ]);
    await runOk('manuals', 'pull', folder);
    expect(text('ws/signs/intro.md')).toContain('need **boxes**');
    expect((await runJson('manuals', 'permissions')).items).toMatchObject([{ role: 'OWNER' }]);
    expect(accountId).toBeDefined();
  });

  it.each([
    ['intro.md', '---\ntitel: Intro\n---\n', /intro\.md: .*titel/],
    ['intro.md', '---\ntitle: [\n---\n', /intro\.md: /],
    ['intro.md', '---\nid: pg_unknown\n---\n', /intro\.md: The manual has no page pg_unknown/],
    ['a/b.md', 'Text', /a\/b\.md: There is no page ws\/signs\/a\.md/],
    ['a.md', '![sign](https://example.com/sign.png)', /a\.md: An image must be an asset/],
    ['a.md', '[home](mailto:a@example.com)', /a\.md: .*link/i],
    ['a.md', '<!-- kept: table -->', /a\.md: The page has nothing here that/],
    ['a.md', 'a'.repeat(600_000), /a\.md: A page may have 500000 characters/],
    ['manual.json', '{', /manual\.json: /],
    ['manual.json', '{}', /manual\.json: title/],
    ['a.md', Buffer.from([0xff, 0xfe]), /a\.md is not UTF-8/],
  ])('refuses %s with its name, and changes nothing', async (name, content, says) => {
    write(`ws/signs/${name}`, '');
    writeFileSync(path.join(folder, 'ws/signs', name), content);
    expect(await run('manuals', 'push', folder)).toMatchObject({ status: 1, stderr: expect.stringMatching(says) });
    expect(await manuals()).toEqual([]);
  });

  describe('with a colleague', () => {
    let other: string;
    const theirPage = (name: string) => path.join(other, 'ws/signs', name);
    const theirEdit = (name: string, from: string | RegExp, to: string) =>
      writeFileSync(theirPage(name), readFileSync(theirPage(name), 'utf8').replace(from, to));
    const theirPush = async () => (await runJson('manuals', 'push', other)).manuals[0];

    beforeEach(async () => {
      await push();
      other = path.join(workspace.folder, 'colleague');
      cpSync(folder, other, { recursive: true });
    });

    it('overwrites no audience, no place and no archive of theirs', async () => {
      theirEdit('intro.md', 'audience: WORKER', 'audience: REVIEWER');
      expect(await theirPush()).toMatchObject({ result: 'changed' });
      edit('ws/signs/intro.md', 'audience: WORKER', 'audience: ADMIN');
      expect(await run('manuals', 'push', folder)).toMatchObject({ status: 3 });
      expect(text('ws/signs/intro.theirs.md')).toContain('audience: REVIEWER');
      rmSync(path.join(folder, 'ws/signs/intro.theirs.md'));
      expect(await push()).toMatchObject({ changes: [{ says: 'show to ADMIN' }] });

      rmSync(theirPage('rules/edges.md'));
      expect(await theirPush()).toMatchObject({ changes: [{ says: 'archive' }] });
      edit('ws/signs/rules/edges.md', 'No further', 'Further');
      for (let turn = 0; turn < 2; turn += 1) {
        expect(await run('manuals', 'push', folder)).toMatchObject({
          status: 3,
          stderr: expect.stringContaining('was edited here, and archived there'),
        });
      }
      expect(text('ws/signs/rules/edges.md')).toContain('Further');
    });

    it('archives no page that they have changed, and leaves a deleted one deleted', async () => {
      rmSync(path.join(folder, 'ws/signs/intro.md'));
      expect(await run('manuals', 'pull', folder)).toMatchObject({ status: 0 });
      expect(names()).not.toContain('ws/signs/intro.md');
      theirEdit('intro.md', 'boxes', 'their boxes');
      await theirPush();
      expect(await run('manuals', 'push', folder)).toMatchObject({
        status: 3,
        stderr: expect.stringContaining('was deleted here, and changed there'),
      });
      expect(text('ws/signs/intro.md')).toContain('their boxes');
    });

    it('keeps their version until it is merged, wherever the page goes', async () => {
      theirEdit('intro.md', 'boxes', 'their boxes');
      await theirPush();
      edit('ws/signs/intro.md', 'boxes', 'our boxes');
      expect(await run('manuals', 'pull', folder)).toMatchObject({ status: 3 });
      renameSync(path.join(folder, 'ws/signs/intro.md'), path.join(folder, 'ws/signs/begin.md'));
      for (const verb of ['pull', 'push']) {
        expect(await run('manuals', verb, folder)).toMatchObject({
          status: 3,
          stderr: expect.stringContaining('intro.theirs.md'),
        });
      }
      expect(text('ws/signs/intro.theirs.md')).toContain('their boxes');
      expect(text('ws/signs/begin.md')).toContain('our boxes');
    });

    it('takes two new pages of one title for two, or for a conflict', async () => {
      writeFileSync(theirPage('n.md'), 'Theirs.\n');
      await theirPush();
      write('ws/signs/n.md', 'Ours.\n');
      expect(await run('manuals', 'push', folder)).toMatchObject({ status: 3 });
      expect([text('ws/signs/n.md'), text('ws/signs/n.theirs.md')]).toEqual([
        expect.stringContaining('Ours.'),
        expect.stringContaining('Theirs.'),
      ]);
      write('ws/signs/x.md', '---\ntitle: Same\n---\n');
      write('ws/signs/y.md', '---\ntitle: Same\n---\n');
      rmSync(path.join(folder, 'ws/signs/n.theirs.md'));
      expect(await run('manuals', 'push', folder)).toMatchObject(refused('has the same title'));
    });
  });

  it('leaves alone what was edited while it ran', async () => {
    await push();
    edit('ws/signs/intro.md', 'boxes', 'wide boxes');
    decide = (line) => {
      if (line.endsWith('/changesets/apply')) edit('ws/signs/intro.md', 'Thank you', 'Thanks');
      return 'passed';
    };
    expect(await run('manuals', 'push', folder)).toMatchObject(refused('Edited meanwhile'));
    expect(text('ws/signs/intro.md')).toContain('Thanks');
    decide = () => 'passed';
    expect(await run('manuals', 'pull', folder)).toMatchObject({ status: 3 });
    expect([text('ws/signs/intro.md'), text('ws/signs/intro.theirs.md')]).toEqual([
      expect.stringContaining('Thanks'),
      expect.stringContaining('wide boxes'),
    ]);
  });

  it('keeps what is done to one manual although another fails', async () => {
    write('ws/bad/manual.json', '{ "title": "Bad" }');
    write('ws/bad/a.md', '![x](https://example.com/x.png)');
    expect(await run('manuals', 'push', folder)).toMatchObject(refused('ws/bad/a.md: An image must be an asset'));
    expect(await revisions()).toEqual([2]);
    expect(JSON.parse(text('ws/signs/manual.json')).id).toBeDefined();
  });

  it('knows a new manual by its id although it was only submitted', async () => {
    const { changesetId, result } = await push('--submit');
    expect(result).toBe('submitted');
    expect(await runJson('review', 'approve', changesetId)).toMatchObject({ status: 'APPLIED' });
    await runOk('manuals', 'pull', folder);
    expect(names()).toHaveLength(3);
    expect(await check()).toBe(0);
    edit('ws/signs/intro.md', 'boxes', 'wide boxes');
    const submitted = new Set<string>();
    for (let turn = 0; turn < 3; turn += 1) {
      const { changesetId: next } = await push('--submit');
      submitted.add(next);
      await runJson('review', 'reject', next);
    }
    expect(submitted.size).toBe(3);
  });

  it('says that the account does not see a manual of the folder', async () => {
    await push();
    sandbox.archiveManual(JSON.parse(text('ws/signs/manual.json')).id);
    expect(await run('manuals', 'pull', folder)).toMatchObject({
      status: 3,
      stderr: expect.stringContaining('ws/signs: The account does not see this manual'),
    });
    expect(names()).toHaveLength(3);
  });

  it('refuses a folder without a manual, such as a misspelt one', async () => {
    expect(await run('manuals', 'push', `${folder}x`, '--dry-run')).toMatchObject(refused('There is no manual.json'));
  });

  it('names two files with the same id, and an asset that is not there', async () => {
    await push();
    write('ws/signs/copy.md', text('ws/signs/intro.md'));
    expect(await run('manuals', 'push', folder)).toMatchObject(refused('Another file has the same id'));
    rmSync(path.join(folder, 'ws/signs/copy.md'));
    edit('ws/signs/rules.md', 'one box.', 'one box: ![a box](asset:ast_none)');
    expect(await run('manuals', 'push', folder)).toMatchObject({
      status: 3,
      stderr: expect.stringContaining('ws/signs/rules (edit): the asset is not ready'),
    });
    const { assetId } = sandbox.addAsset(accountId);
    edit('ws/signs/rules.md', 'ast_none', assetId);
    expect(await push()).toMatchObject({ result: 'changed' });
  });

  it('never writes or reads through a link', async () => {
    await push();
    const outside = path.join(workspace.folder, 'outside');
    mkdirSync(outside);
    rmSync(path.join(folder, 'ws'), { recursive: true });
    symlinkSync(outside, path.join(folder, 'instructions'));
    expect(await run('manuals', 'pull', folder)).toMatchObject(refused('is a link'));
    expect(readdirSync(outside)).toEqual([]);
  });

  it('gives every title a safe file name', async () => {
    const titles = ['../../etc/passwd', 'CON', '.hidden', 'a/b\\c', '標識', '', '😀', 'x'.repeat(300), 'Same', 'same'];
    write('ws/signs/manual.json', '{ "title": "..", "audience": "WORKER" }');
    for (const name of ['intro.md', 'rules.md', 'rules'])
      rmSync(path.join(folder, 'ws/signs', name), { recursive: true });
    for (const [index, title] of titles.entries()) {
      if (title !== '') write(`ws/signs/p${index}.md`, `---\ntitle: ${JSON.stringify(title)}\n---\n\nText\n`);
    }
    await push();
    const other = path.join(workspace.folder, 'other');
    await runOk('manuals', 'pull', other);
    expect(names(other).map((name) => path.basename(name))).toEqual([
      'a-b-c.md',
      'con.md',
      'etc-passwd.md',
      'hidden.md',
      'page.md',
      'same-2.md',
      'same.md',
      `${'x'.repeat(60)}.md`,
      '標識.md',
    ]);
    expect(await run('manuals', 'push', other, '--dry-run')).toMatchObject({ status: 0 });
  });
});
