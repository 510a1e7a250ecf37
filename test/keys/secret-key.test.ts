import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { keyFileOf, loadKey, loadNextKey, openSecretBox, promoteNextKey } from '../../src/keys/secret-key.ts';
import { openForTest } from '../support/databases.ts';
import { createFolder } from '../support/folder.ts';
import { describeAnyDatabase, tries } from '../support/tries.ts';

describe('the key', () => {
  it('is the configured one, wherever the database is', () => {
    const key = randomBytes(32);
    expect(loadKey('postgres://db/gangway', key)).toBe(key);
    expect(loadKey(`sqlite:${createFolder()}/gangway.db`, key)).toBe(key);
  });

  it('is made once, beside the SQLite file, for its owner only', () => {
    const folder = createFolder();
    const url = `sqlite:${folder}/data/gangway.db`;
    const key = loadKey(url, undefined);
    expect(key).toHaveLength(32);
    expect(loadKey(url, undefined)).toEqual(key);
    expect(readdirSync(path.join(folder, 'data'))).toEqual(['gangway.db.key']);
    const file = path.join(folder, 'data', 'gangway.db.key');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700);
    expect(Buffer.from(readFileSync(file, 'utf8'), 'base64')).toEqual(key);
  });

  it('is another one for every database', () => {
    const keys = [1, 2, 3].map(() => loadKey(`sqlite:${createFolder()}/a.db`, undefined));
    expect(new Set(keys.map((key) => key.toString('hex'))).size).toBe(3);
  });

  it('is the same for processes that start at once', async () => {
    const folder = createFolder();
    const program = path.join(folder, 'load.ts');
    const source = path.resolve('src/keys/secret-key.ts');
    writeFileSync(
      program,
      `import { loadKey } from ${JSON.stringify(source)};
       process.send('ready');
       process.on('message', ({ url, at }) => {
         while (Date.now() < at);
         process.send(loadKey(url, undefined).toString('hex'));
       });`,
    );
    const processes = [1, 2].map(() => fork(program));
    try {
      await Promise.all(processes.map((child) => once(child, 'message')));
      for (let round = 0; round < tries(400); round += 1) {
        const answers = processes.map((child) => once(child, 'message'));
        const order = { url: `sqlite:${folder}/${round}.db`, at: Date.now() + 4 };
        for (const child of processes) child.send(order);
        const keys = (await Promise.all(answers)).map(([key]) => key as string);
        expect(new Set(keys)).toEqual(new Set([keys[0]]));
        expect(keys[0]).toHaveLength(64);
      }
    } finally {
      for (const child of processes) child.kill();
    }
  });

  it('is required for PostgreSQL, with the command that makes one', () => {
    expect(() => loadKey('postgres://db/gangway', undefined)).toThrow(
      expect.objectContaining({
        code: 'invalid',
        message: expect.stringMatching(/GANGWAY_SECRET_KEY.*openssl rand -base64 32/),
      }),
    );
  });

  it.each(['', 'not a key', randomBytes(16).toString('base64')])(
    'is refused where its file holds something else (%j), without showing it',
    (content) => {
      const folder = createFolder();
      const file = path.join(folder, 'gangway.db.key');
      writeFileSync(file, content, { mode: 0o600 });
      expect(() => loadKey(`sqlite:${folder}/gangway.db`, undefined)).toThrow(
        expect.objectContaining({
          code: 'invalid',
          message: `The key file ${file} does not hold 32 bytes in base64`,
        }),
      );
    },
  );

  it.each([0o640, 0o604, 0o644, 0o620])('is refused if its file has the mode %o', (mode) => {
    const url = `sqlite:${createFolder()}/gangway.db`;
    const key = loadKey(url, undefined);
    const file = keyFileOf(url) ?? '';
    chmodSync(file, mode);
    expect(() => loadKey(url, undefined)).toThrow(
      expect.objectContaining({
        code: 'invalid',
        message: expect.stringContaining(`(mode ${mode.toString(8)}): chmod 600 ${file}`),
      }),
    );
    expect(loadKey(url, key)).toEqual(key);
    chmodSync(file, 0o400);
    expect(loadKey(url, undefined)).toEqual(key);
  });

  it('is refused if its file cannot be made', () => {
    const folder = createFolder();
    writeFileSync(path.join(folder, 'file'), '');
    expect(() => loadKey(`sqlite:${folder}/file/gangway.db`, undefined)).toThrow(
      expect.objectContaining({
        code: 'invalid',
        message: expect.stringContaining('could not be made'),
      }),
    );
  });

  it('of a database in memory is forgotten with it', () => {
    const [one, two] = [1, 2].map(() => loadKey('sqlite::memory:', undefined));
    expect(one).toHaveLength(32);
    expect(one).not.toEqual(two);
  });
});

describe('a key file that is being replaced', () => {
  it('is loaded until the next key is promoted', () => {
    const url = `sqlite:${createFolder()}/gangway.db`;
    const file = keyFileOf(url) ?? '';
    const old = loadKey(url, undefined);
    const next = loadNextKey(file);
    expect(next).not.toEqual(old);
    expect([loadKey(url, undefined), loadNextKey(file)]).toEqual([old, next]);
    promoteNextKey(file);
    expect(loadKey(url, undefined)).toEqual(next);
    expect(loadNextKey(file)).not.toEqual(next);
  });
});

describeAnyDatabase('a database', (openFresh) => {
  const [key, another] = [randomBytes(32), randomBytes(32)];

  it('opens only with the key it was first opened with', async () => {
    const database = await openFresh();
    const sealed = (await openSecretBox(database, key)).seal(Buffer.from('plain'), 'here');
    expect((await openSecretBox(database, key)).open(sealed, 'here').toString()).toBe('plain');
    await expect(openSecretBox(database, another)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/another secret key .*set GANGWAY_SECRET_KEY/),
    });
    expect((await openSecretBox(database, key)).open(sealed, 'here').toString()).toBe('plain');
  });

  it('keeps one of two keys that first open it at the same time', async () => {
    const database = await openFresh();
    for (let round = 0; round < 10; round += 1) {
      await database.kysely.deleteFrom('setting').where('name', '=', 'key_fingerprint').execute();
      const opened = await Promise.allSettled(
        [key, another].map((one) => openSecretBox(openForTest(database.url), one)),
      );
      expect(opened.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    }
  });

  it('stores no key, only a fingerprint', async () => {
    const database = await openFresh();
    await openSecretBox(database, key);
    const rows = await database.kysely.selectFrom('setting').selectAll().execute();
    const text = JSON.stringify(rows);
    for (const encoding of ['hex', 'base64', 'base64url'] as const) {
      expect(text).not.toContain(key.toString(encoding).slice(0, 16));
    }
  });
});
