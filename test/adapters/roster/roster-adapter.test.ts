import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { inspect } from 'node:util';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Person } from '../../../src/adapters/adapter.ts';
import { createRosterAdapter, listMountPoints } from '../../../src/adapters/roster/roster-adapter.ts';
import { createFolder } from '../../support/folder.ts';
import { listAll } from '../../support/list-all.ts';

const { signal } = new AbortController();

afterEach(() => void vi.useRealTimers());

function person(id: string, displayName: string | null = 'Amara O.'): Person {
  return { trainerId: id, email: `${id}@opentrain.work`, displayName, memberId: null };
}

function openRoster(text?: string) {
  const file = path.join(createFolder(), 'roster.json');
  if (text !== undefined) writeFileSync(file, text);
  const adapter = createRosterAdapter({ path: file });
  return {
    adapter,
    file,
    add: (group: string, id: string, name?: string | null) => adapter.addMember(group, person(id, name), signal),
    remove: (group: string, id: string) => adapter.removeMember(group, { id, email: null }, signal),
    text: () => readFileSync(file, 'utf8'),
    read: () => JSON.parse(readFileSync(file, 'utf8')) as unknown,
    files: () => readdirSync(path.dirname(file)),
  };
}

describe('the roster', () => {
  it('removes the drafts of killed processes, and of processes that are writing', async () => {
    const roster = openRoster('{"groups": {}}');
    writeFileSync(`${roster.file}.left.tmp`, 'half a ro');
    writeFileSync(path.join(path.dirname(roster.file), 'other.json.left.tmp'), 'of another file');
    await roster.add('street-signs', 'cmu1');
    expect(roster.files()).toEqual(['other.json.left.tmp', 'roster.json']);
  });

  it('is not overwritten by a process that was frozen while others changed it', async () => {
    const roster = openRoster('{"groups": {"street-signs": []}}');
    const late = await freezeWhileAdding(roster.file, 'late');
    const ids = Array.from({ length: 10 }, (_, index) => `cmu${index}`);
    for (const id of ids) await roster.add('street-signs', id);
    expect(await late.wake()).toBe('unavailable');
    const members = await listAll(roster.adapter, 'street-signs', signal);
    expect(members.map(({ id }) => id)).toEqual(ids);
    expect(roster.files()).toEqual(['roster.json']);
    await roster.add('street-signs', 'late');
    expect(await listAll(roster.adapter, 'street-signs', signal)).toHaveLength(11);
  });

  it('is not overwritten after another program has replaced it', async () => {
    const roster = openRoster('{"groups": {"street-signs": []}}');
    const late = await freezeWhileAdding(roster.file, 'late');
    const byHand = '{"groups": {"lamps": []}}';
    writeFileSync(`${roster.file}.mine`, byHand);
    renameSync(`${roster.file}.mine`, roster.file);
    expect(await late.wake()).toBe('unavailable');
    expect(roster.text()).toBe(byHand);
    expect(roster.files()).toEqual(['roster.json']);
  });

  it('loses no member if several processes add members at the same time', async () => {
    const roster = openRoster();
    const writers = [1, 2, 3].map(() => createRosterAdapter({ path: roster.file }));
    const added: string[] = [];
    await Promise.all(
      writers.map(async (writer, number) => {
        for (let index = 0; index < 20; index += 1) {
          const id = `cmu${number}-${index}`;
          await writer.addMember('signs', person(id), signal).then(
            () => added.push(id),
            (error: unknown) => expect(error).toMatchObject({ code: 'unavailable' }),
          );
        }
      }),
    );
    expect(added.length).toBeGreaterThan(0);
    const members = await listAll(roster.adapter, 'signs', signal);
    expect(members.map(({ id }) => id).sort()).toEqual(added.sort());
    expect(roster.files()).toEqual(['roster.json']);
  });

  it('is written in the documented format, keeps a member who is added again, and a group without members', async () => {
    const roster = openRoster();
    await roster.add('street-signs', 'cmu1');
    await roster.add('street-signs', 'cmu2', null);
    await roster.add('street-signs', 'cmu1', 'Another name');
    expect(roster.read()).toEqual({
      groups: {
        'street-signs': [
          { id: 'cmu1', email: 'cmu1@opentrain.work', displayName: 'Amara O.', status: 'active' },
          { id: 'cmu2', email: 'cmu2@opentrain.work', displayName: '', status: 'active' },
        ],
      },
    });
    expect(roster.text().endsWith('}\n')).toBe(true);
    for (const id of ['cmu1', 'cmu2']) await roster.remove('street-signs', id);
    expect(roster.read()).toEqual({ groups: { 'street-signs': [] } });
    expect(roster.files()).toEqual(['roster.json']);
  });

  it('keeps its members after an editor saved it with a byte order mark', async () => {
    const roster = openRoster('\ufeff{"groups": {"signs": []}, "note": "ours"}');
    await roster.add('signs', 'cmu1');
    expect(roster.read()).toMatchObject({ groups: { signs: [{ id: 'cmu1' }] }, note: 'ours' });
  });

  it('is read again while another program may still be writing it within the same tick of a coarse clock', async () => {
    const writtenAt = new Date('2026-01-01T00:00:00Z');
    vi.useFakeTimers({ toFake: ['Date'], now: writtenAt.getTime() + 2000 });
    const roster = openRoster();
    for (const id of ['cmu1', 'cmu2']) {
      const member = { id, email: 'a@opentrain.work', displayName: '', status: 'active' };
      writeFileSync(roster.file, JSON.stringify({ groups: { signs: [member] } }));
      utimesSync(roster.file, writtenAt, writtenAt);
      expect(await listAll(roster.adapter, 'signs', signal)).toMatchObject([{ id }]);
    }
  });

  it('is written through its symbolic link, which an older version replaced by a file', async () => {
    const real = path.join(createFolder(), 'members.json');
    const roster = openRoster();
    symlinkSync(real, roster.file);
    await roster.adapter.check(signal);
    await roster.add('signs', 'cmu1');
    await roster.add('signs', 'cmu2');
    expect(readlinkSync(roster.file)).toBe(real);
    expect(JSON.parse(readFileSync(real, 'utf8')).groups.signs).toMatchObject([{ id: 'cmu1' }, { id: 'cmu2' }]);
    expect(roster.files()).toEqual(['roster.json']);
    expect(readdirSync(path.dirname(real))).toEqual(['members.json']);
  });

  it('keeps its mode and owner: 0640 once became 0644, which showed the addresses to everyone', async () => {
    const roster = openRoster('{"groups": {}}');
    // Only root can change the owner of a file.
    const owner = process.getuid?.() === 0 ? 12_345 : statSync(roster.file).uid;
    chownSync(roster.file, owner, statSync(roster.file).gid);
    chmodSync(roster.file, 0o640);
    await roster.add('signs', 'cmu1');
    expect(statSync(roster.file)).toMatchObject({ mode: 0o100640, uid: owner });
  });

  it('is refused by the check if the file is mounted on its own, because a change would fail with EBUSY', () => {
    const mountinfo = '812 640 8:1 /srv/people.json /data/my\\040roster.json rw,relatime - ext4 /dev/sda1 rw\n';
    expect(listMountPoints(mountinfo)).toContain('/data/my roster.json');

    const folder = createFolder();
    const [real, mounted] = [path.join(folder, 'real.json'), path.join(folder, 'my roster.json')];
    for (const file of [real, mounted]) writeFileSync(file, '{"groups": {}}');
    const adapter = new URL('../../../src/adapters/roster/roster-adapter.ts', import.meta.url).href;
    const code = `
      const [file, adapter] = process.argv.slice(1);
      const { createRosterAdapter } = await import(adapter);
      const { message } = await createRosterAdapter({ path: file })
        .check(new AbortController().signal)
        .then(() => ({ message: 'passed' }), (error) => error);
      process.stdout.write(message);`;
    const script = 'mount --bind "$1" "$2" && echo mounted && exec "$3" --input-type=module -e "$4" "$2" "$5"';
    const argv = [
      '--map-root-user',
      '--mount',
      'sh',
      '-c',
      script,
      'sh',
      real,
      mounted,
      process.execPath,
      code,
      adapter,
    ];
    const { stdout } = spawnSync('unshare', argv, { encoding: 'utf8' });
    // The kernel may allow mounts only to root. The list of mounts was checked above in any case.
    if (!stdout?.startsWith('mounted')) {
      process.stderr.write('No file was mounted: unshare --map-root-user --mount is not allowed here\n');
      return;
    }
    expect(stdout).toMatch(/my roster\.json cannot be replaced, because the file is mounted on its own/);
  });

  it('creates its folder', async () => {
    const file = path.join(createFolder(), 'new', 'deep', 'roster.json');
    await createRosterAdapter({ path: file }).addMember('p', person('cmu1'), signal);
    expect(existsSync(file)).toBe(true);
  });

  it('is never seen half written', async () => {
    const roster = openRoster();
    await roster.add('street-signs', 'cmu0');
    const reader = openReader(roster.file);
    for (let change = 0; change < 100; change += 1) {
      await roster.add('street-signs', `cmu${change}`, 'A name that takes some room. '.repeat(8));
      await roster.add('street-lamps', `cmu${change}`);
      if (change % 3 === 0) await roster.remove('street-lamps', `cmu${change}`);
    }
    const { reads, faults } = await reader.stop();
    expect(faults).toEqual([]);
    expect(reads).toBeGreaterThan(100);
    expect(roster.files()).toEqual(['roster.json']);
  });

  it('is not changed by a check', async () => {
    const roster = openRoster('{ "groups": {} }');
    await roster.adapter.check(signal);
    expect(roster.text()).toBe('{ "groups": {} }');
    expect(roster.files()).toEqual(['roster.json']);

    const missing = openRoster();
    await missing.adapter.check(signal);
    expect(missing.files()).toEqual([]);
  });
});

describe('a file that is not a roster', () => {
  const members = (member: object) => JSON.stringify({ groups: { signs: [member] } });

  it.each([
    ['nothing', ''],
    ['half of one', '{"groups": {'],
    ['a list', '[]'],
    ['null', 'null'],
    ['without groups', '{}'],
    ['with a list of groups', '{"groups": []}'],
    ['with a group that is no list', '{"groups": {"signs": {}}}'],
    ['with a member without an id', members({ email: 'a@b.work', displayName: '', status: 'active' })],
    ['with another status', members({ id: 'x', email: '', displayName: '', status: 'gone' })],
  ])('(%s) is refused and left as it is', async (_what, text) => {
    const roster = openRoster(text);
    const { adapter } = roster;
    const attempts = [
      () => roster.add('signs', 'cmu1'),
      () => roster.remove('signs', 'cmu1'),
      () => adapter.findMember('signs', person('cmu1'), signal),
      () => adapter.check(signal),
      () => listAll(adapter, 'signs', signal),
    ];
    for (const attempt of attempts) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'invalid',
        message: `${roster.file} is not a valid roster file; it was not changed`,
      });
    }
    expect(roster.text()).toBe(text);
    expect(roster.files()).toEqual(['roster.json']);
  });
});

describe('an address in a roster that is not JSON', () => {
  it('is not in the error', async () => {
    const { adapter } = openRoster('ao@opentrain.work');
    const error = await adapter.check(signal).catch((thrown: unknown) => thrown);
    expect(inspect(error, { depth: 9 })).not.toContain('opentrain.work');
    expect(error).toMatchObject({ code: 'invalid' });
  });
});

describe('a roster that cannot be used', () => {
  it('because its folder is a file is tried again later, and names the file', async () => {
    const blocker = path.join(createFolder(), 'blocker');
    writeFileSync(blocker, 'a file');
    const file = path.join(blocker, 'roster.json');
    const adapter = createRosterAdapter({ path: file });
    const failure = { code: 'unavailable', message: expect.stringContaining(file) };
    await expect(adapter.check(signal)).rejects.toMatchObject(failure);
    await expect(adapter.addMember('p', person('cmu1'), signal)).rejects.toMatchObject(failure);
    await expect(adapter.addMember('p', person('cmu1'), signal)).rejects.not.toThrow('cmu1');
  });

  it('because it is a folder cannot be written, and leaves no draft', async () => {
    const folder = createFolder();
    const file = path.join(folder, 'roster.json');
    mkdirSync(file);
    const adapter = createRosterAdapter({ path: file });
    const added = adapter.addMember('p', person('cmu1'), signal);
    await expect(added).rejects.toMatchObject({ code: 'unavailable' });
    expect(readdirSync(folder)).toEqual(['roster.json']);
  });
});

/** Reads and parses a file in a thread of its own, as fast as it can. */
function openReader(file: string) {
  const isStopped = new Int32Array(new SharedArrayBuffer(4));
  const code = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { readFileSync } = require('node:fs');
    let reads = 0;
    const faults = [];
    while (Atomics.load(workerData.isStopped, 0) === 0) {
      try {
        const { groups } = JSON.parse(readFileSync(workerData.file, 'utf8'));
        if (groups['street-signs'].length === 0) throw new Error('emptied');
        reads += 1;
      } catch (error) {
        faults.push(error.message);
      }
    }
    parentPort.postMessage({ reads, faults });`;
  const seen = runInThread<{ reads: number; faults: string[] }>(code, { file, isStopped });
  return {
    stop: async () => {
      Atomics.store(isStopped, 0, 1);
      return await seen;
    },
  };
}

/** @returns the message that the thread posts */
async function runInThread<Message>(code: string, workerData: object): Promise<Message> {
  const worker = new Worker(code, { eval: true, workerData });
  return await new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

/** Adds a member in another thread, which stops between its draft and its rename. */
async function freezeWhileAdding(file: string, trainerId: string) {
  const gate = new Int32Array(new SharedArrayBuffer(8));
  const adapter = new URL('../../../src/adapters/roster/roster-adapter.ts', import.meta.url).href;
  const code = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { file, gate, adapter, person } = workerData;
    const { signal } = new AbortController();
    signal.throwIfAborted = () => {
      Atomics.store(gate, 0, 1);
      Atomics.notify(gate, 0);
      Atomics.wait(gate, 1, 0);
    };
    import(adapter)
      .then(({ createRosterAdapter }) =>
        createRosterAdapter({ path: file }).addMember('street-signs', person, signal))
      .then(() => 'done', (error) => error.code)
      .then((outcome) => parentPort.postMessage(outcome));`;
  const ended = runInThread<string>(code, { file, gate, adapter, person: person(trainerId) });
  await Atomics.waitAsync(gate, 0, 0).value;
  return {
    wake() {
      Atomics.store(gate, 1, 1);
      Atomics.notify(gate, 1);
      return ended;
    },
  };
}
